// The panel beside the canvas: all that is known of what is selected, and of the step of backward.

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "onclick") made.addEventListener("click", value);
    else made.setAttribute(key, value);
  }
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}

const number = (value, digits = 4) => typeof value === "number"
  ? (Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(2) : String(+value.toPrecision(digits)))
  : value === "nan" ? "NaN" : String(value).replace("inf", "∞");

const typed = ({ shape, dtype }) => `[${shape.join(", ")}] ${dtype}`.trim();

function bytes(count) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (count >= 999.5 && unit < 4) { count /= 1000; unit++; }
  return `${unit && count < 99.5 ? count.toFixed(1) : Math.round(count)} ${units[unit]}`;
}

function coloured(code) {
  const made = element("pre");
  const tokens = /(#.*)|("""[\s\S]*?"""|'[^'\n]*'|"[^"\n]*")|\b(def|return|if|else|elif|for|in|not|and|or|is|None|True|False|lambda|raise|while|with|import|from|class|yield)\b/g;
  let end = 0;
  for (const found of code.matchAll(tokens)) {
    made.append(code.slice(end, found.index));
    made.append(element("span", { class: found[1] ? "comment" : found[2] ? "string" : "word" }, found[0]));
    end = found.index + found[0].length;
  }
  made.append(code.slice(end));
  return made;
}

function valuesOf(gradient) {
  const rows = !gradient.whole ? [gradient.values] : gradient.shape.length === 2 ? gradient.values
    : gradient.shape.length === 1 ? [gradient.values] : [[gradient.values]];
  const columns = Math.max(0, ...rows.map(row => row.length));
  if (!columns) return null;
  const largest = Math.max(...rows.flat().map(value => typeof value === "number" ? Math.abs(value) : 0), 1e-300);
  const crowded = rows.length > 1 && columns > 5;  // then colours alone must do
  const grid = element("div", { class: crowded ? "values crowded" : "values", style: `grid-template-columns:repeat(${rows.length === 1 ? Math.min(columns, 4) : columns},auto)` });
  for (const row of rows) {
    for (const value of row) {
      const share = typeof value === "number" ? Math.round(Math.abs(value) / largest * 46) : 0;
      const colour = value < 0 ? "var(--loss)" : "var(--product)";
      const wrongValue = typeof value === "string" && /nan|inf/.test(value);
      const look = wrongValue ? { class: "nan" } : { style: `background:color-mix(in srgb, ${colour} ${share}%, transparent)` };
      grid.append(element("span", { ...look, title: number(value) }, crowded ? "" : number(value)));
    }
  }
  if (!gradient.whole) grid.append(element("span", {}, "…"));
  return grid;
}

// A gradient as one number: itself where it is one, else its norm.
function sized(gradient) {
  return gradient.single ? `∇ ${number([gradient.values].flat(2)[0])}` : `‖∇‖ ${number(gradient.norm)}`;
}

function gradientBox(name, gradient, onclick = null) {
  const label = onclick ? element("a", { onclick }, name) : element("span", {}, name);
  if (!gradient) return element("div", { class: "gradient" }, label, element("span", { class: "range" }, "  nothing: no gradient flows here"));
  const bad = gradient.nan || gradient.infinite;
  const wrong = [gradient.nan ? `${gradient.nan} NaN` : "", gradient.infinite ? `${gradient.infinite} infinite` : ""];
  const range = gradient.lowest === null ? "" : `${number(gradient.lowest)} … ${number(gradient.highest)}`;
  return element("div", { class: bad ? "gradient bad" : "gradient" },
    element("div", { class: "head" }, label, element("span", { class: "norm" }, sized(gradient))),
    element("div", { class: "range" }, [typed(gradient), range, ...wrong].filter(Boolean).join(" · ")),
    valuesOf(gradient));
}

class Panel {
  constructor(graph, go) {
    this.graph = graph;
    this.go = go;  // called with the key of what is to be selected
    this.root = document.getElementById("panel");
  }

  show(key, step, position) {
    const kind = key === null ? "" : kindOf(key);
    const parts = kind === "operation" ? this.operation(numberOf(key), step)
      : kind === "leaf" ? this.leaf(numberOf(key), step)
      : kind === "result" ? this.result(numberOf(key)) : this.whole();
    if (step) parts.unshift(element("p", { class: "eyebrow" }, position));
    this.root.replaceChildren(...parts.filter(Boolean));
    this.root.scrollTop = 0;
  }

  heading(text) {
    return element("h3", {}, text);
  }

  nameOf(source) {
    if (!source) return "an input that needs none";
    return source.kind === "leaf" ? this.graph.leaves[source.number].name : this.graph.operations[source.number].title;
  }

  table(rows) {
    return element("table", {}, ...rows.map(row => element("tr", {}, ...row.map(cell => element("td", {}, cell)))));
  }

  operation(at, step) {
    const operation = this.graph.operations[at], parts = [element("h2", {}, operation.title)];
    const modules = [];
    for (let group = operation.group; group; group = this.graph.groups[group].parent) modules.unshift(this.graph.groups[group].label);
    if (operation.module) modules.push(operation.module);
    parts.push(element("p", {}, [operation.node, operation.name ? `made ${operation.name}` : ""].filter(Boolean).join(" · ")));
    if (modules.length) parts.push(element("p", {}, modules.join(" › ")));
    parts.push(...(step ? this.cameIn(step) : this.gradients(operation)));
    parts.push(...this.rule(operation));
    if (step) parts.push(...this.wentOut(operation, step));
    if (operation.place) {
      parts.push(this.heading("Made at"), element("p", {}, `${operation.place.file}:${operation.place.line}`));
      if (operation.place.code) parts.push(coloured(operation.place.code));
    }
    const outputs = operation.outputs.filter(Boolean);
    if (outputs.length) parts.push(this.heading("Result"), ...outputs.map(each => element("p", {}, typed(each))));
    parts.push(...this.inputs(operation), ...this.saved(operation));
    return parts;
  }

  cameIn(step) {
    const parts = [this.heading("Gradient that came in")];
    step.incoming.forEach((each, place) => {
      parts.push(gradientBox(step.incoming.length > 1 ? `of result ${place}` : "of the result", each));
    });
    return parts;
  }

  wentOut(operation, step) {
    const parts = [this.heading("Gradients that went out")];
    operation.inputs.forEach((source, place) => {
      if (!source) return;
      parts.push(gradientBox(`to ${this.nameOf(source)}`, step.outgoing[place], () => this.go(`${source.kind}-${source.number}`)));
    });
    return parts;
  }

  gradients(operation) {
    const found = Object.values(operation.gradients);
    return found.length ? [this.heading("Gradient"), ...found.map(each => gradientBox("of the result", each))] : [];
  }

  rule(operation) {
    const rule = this.graph.rules[operation.rule];
    const parts = [this.heading("Rule"), element("p", {}, element("code", {}, rule.schema))];
    for (const part of rule.parts) {
      if (part.of && rule.parts.length > 1) parts.push(element("p", {}, "for ", element("code", {}, part.of)));
      parts.push(coloured(part.code));
    }
    if (rule.place) parts.push(element("p", {}, rule.place));
    return parts;
  }

  inputs(operation) {
    const rows = operation.inputs.filter(Boolean).map(source => {
      const link = element("a", { onclick: () => this.go(`${source.kind}-${source.number}`) }, this.nameOf(source));
      const from = source.kind === "leaf" ? this.graph.leaves[source.number] : this.graph.operations[source.number].outputs[source.output];
      return [link, from ? typed(from) : ""];
    });
    return rows.length ? [this.heading("Gradients flow to"), this.table(rows)] : [];
  }

  saved(operation) {
    if (operation.freed) return [this.heading("Kept for backward"), element("p", {}, "freed by a backward call")];
    const rows = operation.saved.map(saved => {
      const whose = saved.source ? element("div", { class: "range" }, saved.source) : null;
      return [element("span", {}, element("code", {}, saved.name), whose), typed(saved), bytes(saved.bytes)];
    });
    return rows.length ? [this.heading("Kept for backward"), this.table(rows)] : [];
  }

  leaf(at, step) {
    const leaf = this.graph.leaves[at];
    const parts = [element("h2", {}, leaf.name), element("p", {}, `${leaf.parameter ? "parameter" : "leaf"} · ${typed(leaf)}`)];
    const gradient = step ? step.incoming[0] : leaf.gradient;
    parts.push(this.heading(step ? "Gradient that arrived" : "Gradient"));
    parts.push(gradient ? gradientBox("in all", gradient) : element("p", {}, "none yet"));
    if (step) parts.push(element("p", {}, leaf.uses > 1 ? `The sum of ${leaf.uses} contributions: ${leaf.name} is used ${leaf.uses} times.`
      : "backward() adds it to .grad."));
    const users = [];
    this.graph.operations.forEach((operation, user) => {
      if (operation.inputs.some(each => each && each.kind === "leaf" && each.number === at)) users.push(user);
    });
    parts.push(this.heading("Used by"));
    for (const user of users)
      parts.push(element("p", {}, element("a", { onclick: () => this.go(`operation-${user}`) }, this.graph.operations[user].title)));
    return parts;
  }

  result(at) {
    const result = this.graph.results[at];
    return [element("h2", {}, result.title), element("p", {}, typed(result)),
      element("p", {}, "Backward starts here, with a gradient of one, and runs against the arrows: latest operation first.")];
  }

  whole() {
    const { graph } = this, rows = graph.leaves.map((leaf, at) => {
      const link = element("a", { onclick: () => this.go(`leaf-${at}`) }, leaf.name);
      const bad = leaf.gradient && (leaf.gradient.nan || leaf.gradient.infinite);
      const norm = element("span", bad ? { style: "color:var(--bad);font-weight:650" } : {}, leaf.gradient ? `∇ ${leaf.gradient.text}` : "");
      return [link, `[${leaf.shape.join(", ")}]`, norm];
    });
    const heaviest = graph.operations.map((operation, at) => [operation.saved.reduce((sum, each) => sum + each.bytes, 0), at, operation])
      .filter(each => each[0]).sort((a, b) => b[0] - a[0]).slice(0, 8)
      .map(([count, at, operation]) => [element("a", { onclick: () => this.go(`operation-${at}`) }, operation.title),
        operation.module || "", bytes(count)]);
    return [element("h2", {}, graph.results.map(result => result.title).join(", ")), element("p", {}, graph.summary),
      graph.steps.length ? element("p", {}, "Move the slider below, or press space, to watch backward run.") : null,
      this.heading("Leaves"), this.table(rows), heaviest.length ? this.heading("What keeps most memory") : null,
      heaviest.length ? this.table(heaviest) : null];
  }
}
