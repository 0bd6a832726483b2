// The canvas: draws what place.js placed, folds and unfolds groups, zooms and pans.

const SLIGHT = 6;
const SPACE = "http://www.w3.org/2000/svg";

function shape(name, attributes = {}, parent = null) {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (parent) parent.append(made);
  return made;
}

class View {
  constructor(graph, layout) {
    this.graph = graph;
    this.layout = layout;
    this.opened = new Set(layout.opened);
    this.canvas = document.getElementById("canvas");
    this.world = document.getElementById("world");
    this.layers = ["frames", "links", "boxes"].map(name => document.getElementById(name));
    this.shift = { x: 0, y: 0, scale: 1 };
    this.onselect = this.onchange = this.ondraw = () => {};
    this.touched = false;  // whether the user has moved the canvas
    this.cards = new Map();
    for (const card of [...this.canvas.querySelectorAll("defs > .card")]) {
      this.cards.set(card.id, card);
      card.remove();
    }
    this.listen();
  }

  // ---------------------------------------------------------------- drawing

  draw() {
    const placed = this.placed = placeGroups(this.layout.levels, this.opened, this.layout.extents);
    for (const layer of this.layers) layer.replaceChildren();
    this.spots = new Map();
    this.links = [];
    this.bySignal = new Map();
    const waiting = [[0, 0, 0]];
    while (waiting.length) {
      const [number, x, y] = waiting.shift();
      const level = placed.get(number);
      if (number) this.drawFrame(number, level, x, y);
      level.level.links.forEach((link, place) => this.drawLink(number, level, link, place, x, y));
      level.level.spots.forEach((key, spot) => {
        if (key === null || ["in", "out"].includes(kindOf(key))) return;
        const at = { x: x + level.x[spot], y: y + level.y[spot] };
        const inner = kindOf(key) === "group" ? placed.get(numberOf(key)) : undefined;
        if (inner) {
          waiting.push([numberOf(key), at.x - inner.width / 2, at.y - inner.whole / 2]);
        } else {
          const card = this.cards.get(key);
          card.setAttribute("transform", `translate(${at.x.toFixed(1)} ${at.y.toFixed(1)})`);
          this.layers[2].append(card);
          const [left, right, height] = this.layout.extents[key];
          this.spots.set(key, { ...at, left, right, height });
        }
      });
    }
    this.width = placed.get(0).width;
    this.height = placed.get(0).whole;
    this.ondraw();
  }

  drawFrame(number, level, x, y) {
    const group = this.graph.groups[number];
    shape("rect", { x, y, width: level.width, height: level.whole, rx: 12, class: "rl-frame" }, this.layers[0]);
    const frame = shape("g", { class: "frame", "data-group": number }, this.layers[2]);
    shape("path", { d: `M${x + 12} ${y + 14}l4 4l4 -4`, class: "rl-fold" }, frame);
    const name = shape("text", { x: x + 27, y: y + 20, class: "rl-frame-name" }, frame);
    name.textContent = group.short || group.class;
    if (group.short && group.class) {
      const rest = shape("tspan", { class: "rl-frame-class", dx: 7 }, name);
      rest.textContent = group.class;
    }
    this.spots.set(`group-${number}`, { x: x + level.width / 2, y: y + level.whole / 2, left: level.width / 2,
                                        right: level.width / 2, height: level.whole });
  }

  drawLink(number, level, [upper, lower, signal, count], place, x, y) {
    const keys = level.level.spots, key = keys[lower];
    let x1 = x + level.x[upper] + level.upper[place], x2 = x + level.x[lower] + level.lower[place];
    const y1 = y + level.y[upper] + level.height[upper] / 2;
    const y2 = y + level.y[lower] - level.height[lower] / 2;
    const kind = kindOf(key), ends = this.isBox(key);
    if (Math.abs(x1 - x2) < SLIGHT) {  // no kink where a box can be met beside its middle
      if (this.isBox(keys[upper])) x1 = x2;
      else if (ends) x2 = x1;
    }
    const stop = ends ? y2 - 5 : y2, half = (y1 + y2) / 2;
    let d = `M${x1} ${y1}` + (Math.abs(x1 - x2) < 0.5 ? `V${stop}` : `C${x1} ${half} ${x2} ${half} ${x2} ${stop}`);
    if (key === null) d += `V${y2 + level.height[lower]}`;
    const group = shape("g", { class: "link" }, this.layers[1]);
    shape("path", { d, class: "rl-edge" }, group);
    if (ends) shape("path", { d: `M${x2} ${y2 - 1}l-3.6 -7h7.2z`, class: "rl-tip" }, group);
    if (count > 1 && kind === "operation") {
      const side = x1 > x2 ? -1 : 1;  // the arrow comes from the other one
      const place = { x: x2 + 8 * side, y: y2 - 8, "text-anchor": side > 0 ? "start" : "end" };
      const times = shape("text", { ...place, class: "rl-note" }, group);
      times.textContent = `×${count}`;
    }
    const drawn = { group, level: number, upper, lower, upperKey: keys[upper], lowerKey: key, signal };
    this.links.push(drawn);
    if (!this.bySignal.has(signal)) this.bySignal.set(signal, []);
    this.bySignal.get(signal).push(drawn);
  }

  // Whether a spot is a box, and no port, passing arrow or unfolded group.
  isBox(key) {
    const kind = kindOf(key);
    return !["lane", "in", "out"].includes(kind) && !(kind === "group" && this.placed.has(numberOf(key)));
  }

  // The pieces of the arrow that carries the result of `signal` to the box `key`, from the box upwards.
  way(signal, key) {
    const links = this.bySignal.get(signal) || [], bySpot = new Map(), found = [];
    for (const link of links) bySpot.set(`${link.level}:${link.lower}`, link);
    for (const first of links.filter(link => link.lowerKey === key)) {
      let link = first;
      while (link && !found.includes(link)) {
        found.push(link);
        let next = bySpot.get(`${link.level}:${link.upper}`);
        if (!next && kindOf(link.upperKey) === "in") {
          const parent = this.graph.groups[link.level].parent;
          const spot = this.layout.levels[parent].spots.indexOf(`group-${link.level}`);
          next = bySpot.get(`${parent}:${spot}`);
        } else if (!next && kindOf(link.upperKey) === "group") {
          const inner = numberOf(link.upperKey);
          const spot = this.layout.levels[inner].spots.indexOf(`out-${numberOf(signal)}`);
          next = bySpot.get(`${inner}:${spot}`);
        }
        link = next;
      }
    }
    return found;
  }

  // ---------------------------------------------------------------- groups

  // The box that shows an operation now: its own, or that of the outermost folded group around it.
  shownAs(operation) {
    let key = `operation-${operation}`, group = this.graph.operations[operation].group;
    while (group !== null) {
      if (!this.opened.has(group)) key = `group-${group}`;
      group = this.graph.groups[group].parent;
    }
    return key;
  }

  toggle(number, open = !this.opened.has(number)) {
    const before = this.spots.get(`group-${number}`);
    if (open) this.opened.add(number);
    else this.opened.delete(number);
    this.draw();
    const after = this.spots.get(`group-${number}`);
    if (before && after) {  // the group stays where the eye is
      this.shift.x += (before.x - after.x) * this.shift.scale;
      this.shift.y += (before.y - before.height / 2 - after.y + after.height / 2) * this.shift.scale;
      this.move();
    }
    this.onchange();
  }

  openAround(operation) {
    let group = this.graph.operations[operation].group, changed = false;
    while (group !== null) {
      if (!this.opened.has(group)) changed = true;
      this.opened.add(group);
      group = this.graph.groups[group].parent;
    }
    if (changed) this.draw();
  }

  // ---------------------------------------------------------------- zoom and pan

  move() {
    const { x, y, scale } = this.shift;
    this.world.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(${scale.toFixed(4)})`);
  }

  zoom(factor, x, y) {
    const scale = Math.min(4, Math.max(0.03, this.shift.scale * factor));
    const ratio = scale / this.shift.scale;
    this.shift = { x: x - (x - this.shift.x) * ratio, y: y - (y - this.shift.y) * ratio, scale };
    this.move();
  }

  // Everything, or as much of its end as is still readable.
  fit(least = 0.02) {
    const { width, height } = this.canvas.getBoundingClientRect();
    const margin = 36;
    const fitting = Math.min((width - 2 * margin) / this.width, (height - 2 * margin) / this.height, 1.25);
    const scale = Math.max(fitting, Math.min(least, (width - 2 * margin) / this.width));
    const y = scale > fitting ? height - margin - this.height * scale : (height - this.height * scale) / 2;
    this.shift = { x: (width - this.width * scale) / 2, y, scale };
    this.move();
  }

  // Bring a box into sight.
  show(key, always = false) {
    const spot = this.spots.get(key);
    if (!spot) return;
    const { width, height } = this.canvas.getBoundingClientRect(), { scale } = this.shift;
    const x = this.shift.x + spot.x * scale, y = this.shift.y + spot.y * scale;
    if (!always && x > 90 && x < width - 90 && y > 70 && y < height - 70) return;
    this.shift.x += width / 2 - x;
    this.shift.y += height / 2 - y;
    this.move();
  }

  listen() {
    const canvas = this.canvas;
    let last = null, moved = false;
    canvas.addEventListener("wheel", event => {
      event.preventDefault();
      this.touched = true;
      const box = canvas.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * 0.0016), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    canvas.addEventListener("pointerdown", event => {
      last = event;
      moved = false;
    });
    window.addEventListener("pointermove", event => {
      if (!last || !event.buttons) return;
      const dx = event.clientX - last.clientX, dy = event.clientY - last.clientY;
      if (!moved && Math.hypot(dx, dy) < 4) return;
      moved = this.touched = true;
      canvas.classList.add("dragging");
      this.shift.x += dx;
      this.shift.y += dy;
      last = event;
      this.move();
    });
    window.addEventListener("pointerup", () => {
      last = null;
      canvas.classList.remove("dragging");
    });
    canvas.addEventListener("click", event => {
      if (!moved) this.clicked(event.target);
    });
    canvas.addEventListener("pointerover", event => this.hovered(event.target.closest(".card")));
  }

  clicked(target) {
    const leaf = target.closest("[data-leaf]"), card = target.closest(".card"), frame = target.closest(".frame");
    if (leaf) this.onselect(`leaf-${leaf.dataset.leaf}`);
    else if (card && kindOf(card.id) === "group") this.toggle(numberOf(card.id), true);
    else if (card) this.onselect(card.id);
    else if (frame) this.toggle(Number(frame.dataset.group), false);
    else this.onselect(null);
  }

  hovered(card) {
    for (const link of this.links) {
      const near = card && (link.lowerKey === card.id || link.upperKey === card.id);
      link.group.classList.toggle("near", Boolean(near));
    }
  }
}
