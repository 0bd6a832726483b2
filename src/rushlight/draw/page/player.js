// The slider: which nodes have run, which runs now, where gradients have come and where they go.

class Player {
  constructor(graph, view, onstep) {
    this.graph = graph;
    this.view = view;
    this.onstep = onstep;
    this.step = 0;  // 0: nothing has run; n: step n runs now
    this.timer = null;
    this.slider = document.getElementById("slider");
    this.slider.max = graph.steps.length;
    document.getElementById("player").hidden = !graph.steps.length;
    const press = (id, action) => document.getElementById(id).addEventListener("click", action);
    press("first", () => this.go(0));
    press("back", () => this.go(this.step - 1));
    press("forward", () => this.go(this.step + 1));
    press("play", () => this.run());
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
  }

  get current() {
    return this.step ? this.graph.steps[this.step - 1] : null;
  }

  get position() {
    return `Step ${this.step} of ${this.graph.steps.length}`;
  }

  // The name of the box of a step: leaves are shown beside their users.
  keyOf(step) {
    return `${step.kind}-${step.number}`;
  }

  go(step, follow = true) {
    const count = this.graph.steps.length;
    this.step = Math.min(Math.max(step, 0), count);
    if (this.timer && this.step === count) this.run();
    this.slider.value = this.step;
    this.paint();
    const now = this.current;
    if (follow && now) this.follow();
    this.onstep();
  }

  // Bring the box of the current step into sight.
  follow() {
    const { kind, number } = this.current;
    this.view.show(this.view.shownAs(kind === "operation" ? number : this.userOf(number)));
  }

  userOf(leaf) {
    return this.graph.operations.findIndex(each => each.inputs.some(input => input && input.kind === "leaf" && input.number === leaf));
  }

  run() {
    const button = document.getElementById("play");
    if (this.timer) {
      clearInterval(this.timer);
      this.timer = null;
    } else {
      if (this.step === this.graph.steps.length) this.go(0);
      this.timer = setInterval(() => this.go(this.step + 1), Math.max(120, Math.min(900, 40000 / this.graph.steps.length)));
    }
    button.classList.toggle("running", Boolean(this.timer));
  }

  // Show the state of this step on the canvas.
  paint() {
    const { graph, view } = this, past = graph.steps.slice(0, this.step), now = this.current;
    document.getElementById("position").textContent = now ? `${this.step} / ${graph.steps.length}` : `${graph.steps.length} steps`;
    document.getElementById("told").textContent = now ? this.told(now) : "Backward has not begun.";
    view.canvas.classList.toggle("playing", this.step > 0);
    const done = new Map(past.map(step => [this.keyOf(step), step]));
    this.paintCards(done, now);
    this.paintLeaves(done, now);
    this.paintLinks(done, now);
  }

  told(step) {
    const norm = step.incoming[0] ? ` · ${sized(step.incoming[0])}` : "";
    const operation = this.graph.operations[step.number];
    return step.kind === "leaf" ? `${this.graph.leaves[step.number].name} gets its gradient${norm}`
      : `${operation.title} runs${norm}`;
  }

  paintCards(done, now) {
    const { graph, view } = this;
    const shown = now && now.kind === "operation" ? view.shownAs(now.number) : null;
    for (const [key, card] of view.cards) {
      const kind = kindOf(key), step = done.get(key);
      let ran = Boolean(step), bad = false;
      if (kind === "operation") {
        const static_ = Object.values(graph.operations[numberOf(key)].gradients)[0];
        bad = this.gradientText(card.querySelector(":scope > .rl-gradient"), this.step ? step && step.incoming.find(Boolean) : static_);
      } else if (kind === "group") {
        ({ ran, bad } = this.progress(card, numberOf(key), done));
      }
      card.classList.toggle("done", ran);
      card.classList.toggle("bad", bad);
      card.classList.toggle("current", key === shown);
      card.classList.toggle("ends", kind === "result" || (kind === "leaf" && ran));
    }
  }

  // A folded group's bar, which grows with the nodes that ran in it.
  progress(card, number, done) {
    const inside = this.inside(number);
    const ran = inside.filter(each => done.has(`operation-${each}`));
    const bad = ran.some(each => done.get(`operation-${each}`).incoming.some(wrong));
    const box = card.querySelector(":scope > .rl-folded");
    const bar = card.querySelector(":scope > .progress") || shape("rect", { class: "progress", height: 3, rx: 1.5 }, card);
    bar.setAttribute("x", Number(box.getAttribute("x")) + 12);
    bar.setAttribute("y", Number(box.getAttribute("y")) + Number(box.getAttribute("height")) - 4.5);
    bar.setAttribute("width", (Number(box.getAttribute("width")) - 24) * ran.length / Math.max(inside.length, 1));
    return { ran: ran.length > 0, bad };
  }

  inside(number) {
    const group = this.graph.groups[number];
    return group.operations.concat(...group.groups.map(inner => this.inside(inner)));
  }

  gradientText(text, gradient) {
    const bad = Boolean(gradient) && wrong(gradient);
    if (text) {
      text.textContent = gradient ? `∇ ${gradient.text}` : "";
      text.classList.toggle("rl-bad", bad);
    }
    return bad;
  }

  paintLeaves(done, now) {
    for (const card of this.view.cards.values()) {
      for (const line of card.querySelectorAll("[data-leaf]")) {
        const key = `leaf-${line.dataset.leaf}`, step = done.get(key);
        const kept = this.graph.leaves[line.dataset.leaf].gradient;
        this.gradientText(line.querySelector(".rl-gradient"), this.step ? step && step.incoming[0] : kept);
        line.classList.toggle("now", Boolean(now) && step === now);
        if (kindOf(card.id) === "leaf") card.classList.toggle("ends", Boolean(step));
      }
    }
  }

  paintLinks(done, now) {
    const { view, graph } = this;
    for (const link of view.links) link.group.classList.remove("passed", "came", "goes");
    if (!now) return;
    for (const step of done.values()) {
      if (step.kind !== "operation") continue;
      graph.operations[step.number].inputs.forEach((source, place) => {
        if (!source || !step.outgoing[place]) return;
        for (const link of view.way(`${source.kind}-${source.number}`, view.shownAs(step.number))) link.group.classList.add(step === now ? "goes" : "passed");
      });
    }
    for (const link of view.links) {
      if (now.kind === "operation" && link.signal === `operation-${now.number}`) link.group.classList.add("came");
      if (link.lowerKey !== null && kindOf(link.lowerKey) === "result") link.group.classList.add("passed");
    }
  }
}

const wrong = gradient => Boolean(gradient && (gradient.nan || gradient.infinite));
