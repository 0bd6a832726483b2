// Puts the page together: what is selected, which step is shown, which groups are unfolded; the address remembers it.

const graph = JSON.parse(document.getElementById("graph").textContent);
const layout = JSON.parse(document.getElementById("layout").textContent);
for (const group of graph.groups) {
  const parent = group.parent === null ? null : graph.groups[group.parent];
  group.short = parent && parent.name && group.name.startsWith(`${parent.name}.`) ? group.name.slice(parent.name.length + 1) : group.name;
}

const view = new View(graph, layout);
const player = new Player(graph, view, () => { selected = player.current ? player.keyOf(player.current) : null; refresh(); });
const panel = new Panel(graph, key => select(key, true));
let selected = null;

function refresh() {
  for (const [key, card] of view.cards) card.classList.toggle("selected", key === selected);
  const step = player.current, matches = step && selected === player.keyOf(step);
  panel.show(selected, matches ? step : stepOf(selected), matches ? player.position : "Ran in an earlier step");
  remember();
}

// The step in which what is selected ran, if that is over.
function stepOf(key) {
  const at = graph.steps.slice(0, player.step).findIndex(step => player.keyOf(step) === key);
  return at < 0 ? null : graph.steps[at];
}

function select(key, show = false) {
  selected = key;
  if (key && kindOf(key) === "operation") {
    if (show) view.openAround(numberOf(key));
    if (show) view.show(key);
  }
  refresh();
}

function remember() {
  const parts = [];
  if (player.step) parts.push(`step=${player.step}`);
  if (selected && !player.step) parts.push(`select=${selected}`);
  if (String([...view.opened].sort()) !== String([...layout.opened].sort())) parts.push(`open=${[...view.opened].join(",")}`);
  if (document.documentElement.dataset.theme !== preferred()) parts.push(`theme=${document.documentElement.dataset.theme}`);
  if (location.protocol !== "about:") history.replaceState(null, "", parts.length ? `#${parts.join("&")}` : location.pathname + location.search);
}

function recall() {
  const given = new URLSearchParams(location.hash.slice(1));
  document.documentElement.dataset.theme = given.get("theme") || preferred();
  view.opened = new Set(given.has("open") ? given.get("open").split(",").map(Number) : layout.opened);
  view.draw();
  player.go(Number(given.get("step") || 0), false);
  if (given.has("select")) select(given.get("select"));
}

function preferred() {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function find(words) {
  const wanted = words.trim().toLowerCase();
  let first = null;
  for (const card of view.cards.values()) card.classList.remove("found");
  if (!wanted) return;
  graph.operations.forEach((operation, at) => {
    const leaves = operation.inputs.filter(each => each && each.kind === "leaf").map(each => graph.leaves[each.number].name);
    const about = [operation.title, operation.name, operation.module, operation.node, ...leaves].filter(Boolean).join(" ").toLowerCase();
    if (!about.includes(wanted)) return;
    const key = view.shownAs(at), card = view.cards.get(key);
    if (card) card.classList.add("found");
    first = first || key;
  });
  if (first) view.show(first);
}

const press = (id, action) => document.getElementById(id).addEventListener("click", action);
press("fit", () => view.fit());
press("fold", () => { view.opened = new Set([0]); view.draw(); view.fit(0.5); remember(); });
press("unfold", () => { view.opened = new Set(graph.groups.keys()); view.draw(); view.fit(0.35); remember(); });
press("theme", () => {
  document.documentElement.dataset.theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  remember();
});
for (const id of ["fold", "unfold"]) document.getElementById(id).hidden = graph.groups.length < 2;
document.getElementById("search").addEventListener("input", event => find(event.target.value));
document.addEventListener("keydown", event => {
  if (event.target.matches("input[type=search]") || !graph.steps.length) return;
  const actions = { ArrowRight: () => player.go(player.step + 1), ArrowLeft: () => player.go(player.step - 1), " ": () => player.run() };
  if (!actions[event.key] || (event.key === " " && event.target.matches("button"))) return;
  event.preventDefault();
  actions[event.key]();
});
view.onselect = key => select(key);
view.onchange = remember;
view.ondraw = () => player.paint();
recall();

// The first sight: everything where that is readable, else the end that backward begins at, or the step's place.
function start() {
  view.fit(0.72);
  if (player.step) player.follow();
}
window.addEventListener("hashchange", recall);
new ResizeObserver(() => { if (!view.touched) start(); }).observe(view.canvas);
