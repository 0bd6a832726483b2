// Positions of a level's spots: the same as place.py, for any set of unfolded groups.

const ROW_GAP = 30, COLUMN_GAP = 26, LANE_GAP = 16, PADDING = 16, HEADER = 40, FOOTER = 0, SWEEPS = 12, STRAIGHTENINGS = 8, FEEBLE = 1e-3;

const kindOf = key => key === null ? "lane" : key.slice(0, key.indexOf("-"));
const numberOf = key => Number(key.slice(key.indexOf("-") + 1));

function strength(kind) {
  return kind === "lane" ? 8 : kind === "leaf" ? FEEBLE : 6;
}

function pull(one, other) {
  if (one === "lane" && other === "lane") return 8;
  return one === "leaf" || other === "leaf" ? FEEBLE : 4;
}

class Placed {
  constructor(level, extents, ports) {
    this.level = level;
    this.kinds = level.spots.map(kindOf);
    this.left = extents.map(extent => extent[0]);
    this.right = extents.map(extent => extent[1]);
    this.height = extents.map(extent => extent[2]);
    this.up = level.spots.map(() => []);
    this.down = level.spots.map(() => []);
    this.upper = level.links.map(([upper, , signal]) => ports(level.spots[upper], "out", signal));
    this.lower = level.links.map(([, lower, signal]) => ports(level.spots[lower], "in", signal));
    level.links.forEach(([upper, lower], number) => {
      this.down[upper].push(number);
      this.up[lower].push(number);
    });
    this.x = level.spots.map(() => 0);
    this.y = level.spots.map(() => 0);
  }

  place(framed) {
    this.placeAcross();
    this.placeDown(framed ? HEADER : 0, framed ? FOOTER : 0);
    const padding = framed ? PADDING : 0;
    let start = Infinity, end = 0;
    this.x.forEach((x, spot) => { start = Math.min(start, x - this.left[spot]); });
    start = (this.x.length ? start : 0) - padding;
    this.x = this.x.map(x => x - start);
    this.x.forEach((x, spot) => { end = Math.max(end, x + this.right[spot]); });
    this.width = end + padding;
    return this;
  }

  placeDown(above, below) {
    let y = above;
    for (let number = this.level.rows.length - 1; number >= 0; number--) {
      const row = this.level.rows[number];
      let height = 0, ports = true;
      for (const spot of row) {
        const kind = this.kinds[spot];
        if (kind !== "lane") height = Math.max(height, this.height[spot]);
        if (kind !== "lane" && kind !== "in" && kind !== "out") ports = false;
      }
      for (const spot of row) {
        this.y[spot] = this.kinds[spot] === "in" ? 0 : y + height / 2;
        if (this.kinds[spot] === "lane") this.height[spot] = height;
      }
      y += height + (ports && above && number ? 0 : ROW_GAP);
    }
    y -= ROW_GAP;
    this.whole = y + below;
    this.kinds.forEach((kind, spot) => { if (kind === "out") this.y[spot] = this.whole; });
  }

  placeAcross() {
    const rows = this.level.rows;
    for (const row of rows) this.settle(row, row.map(() => 0));
    const sweeps = Math.max(SWEEPS / 2, Math.min(24, Math.floor(60000 / Math.max(this.x.length, 1))));
    for (let sweep = 0; sweep < 2 * sweeps; sweep++) {
      const upwards = sweep % 2 === 0, both = sweep >= Math.floor(sweeps / 2);
      for (let place = 0; place < rows.length; place++) {
        const row = rows[upwards ? place : rows.length - 1 - place];
        this.settle(row, row.map(spot => this.wish(spot, both, upwards)));
      }
    }
    const chains = this.chains();
    for (let pass = 0; pass < STRAIGHTENINGS; pass++) this.straighten(chains);
  }

  // Spots that are linked in one line, as lists of [spot, how far from the line it stands].
  chains() {
    const following = new Map(), starts = new Set(), links = this.level.links;
    const firm = links.map(([upper, lower]) => pull(this.kinds[upper], this.kinds[lower]) !== FEEBLE);
    const users = this.down.map(numbers => numbers.filter(number => firm[number]).length);
    const sources = this.up.map(numbers => numbers.filter(number => firm[number]).length);
    links.forEach(([upper, lower], number) => {
      const lanes = this.kinds[upper] === "lane" && this.kinds[lower] === "lane";
      if (!firm[number] || !(lanes || (users[upper] === 1 && sources[lower] === 1))) return;
      if (following.has(upper) || starts.has(lower)) return;
      following.set(upper, [lower, this.upper[number] - this.lower[number]]);
      starts.add(lower);
    });
    const chains = [];
    for (const row of [...this.level.rows].reverse()) {
      for (const spot of row) {
        if (starts.has(spot) || !following.has(spot)) continue;
        const chain = [[spot, 0]];
        let last = spot, shift = 0;
        while (following.has(last)) {
          const [lower, step] = following.get(last);
          shift += step;
          chain.push([lower, shift]);
          last = lower;
        }
        chains.push(chain);
      }
    }
    return chains;
  }

  straighten(chains) {
    const lines = new Map();
    for (const chain of chains) {
      const middle = chain.reduce((sum, [spot, shift]) => sum + this.x[spot] - shift, 0) / chain.length;
      for (const [spot, shift] of chain) lines.set(spot, middle + shift);
    }
    for (const row of this.level.rows)
      this.settle(row, row.map(spot => lines.has(spot) ? lines.get(spot) : this.wish(spot, true, true)));
  }

  wish(spot, both, upwards) {
    const down = both || (upwards && this.down[spot].length) || !this.up[spot].length;
    const links = this.level.links;
    let total = 0, weight = 0;
    const add = (number, other, shift) => {
      const pulls = pull(this.kinds[spot], this.kinds[other]);
      total += pulls * (this.x[other] + shift);
      weight += pulls;
    };
    if (down) for (const n of this.down[spot]) add(n, links[n][1], this.lower[n] - this.upper[n]);
    if (both || !down) for (const n of this.up[spot]) add(n, links[n][0], this.upper[n] - this.lower[n]);
    return weight ? total / weight : this.x[spot];
  }

  settle(row, wishes) {
    const offsets = [], pools = [];
    let reach = 0, before = null;
    for (const spot of row) {
      if (before !== null) {
        const lane = this.kinds[before] === "lane" || this.kinds[spot] === "lane";
        reach += this.right[before] + (lane ? LANE_GAP : COLUMN_GAP) + this.left[spot];
      }
      offsets.push(reach);
      before = spot;
    }
    row.forEach((spot, place) => {
      pools.push([wishes[place] - offsets[place], strength(this.kinds[spot]), 1]);
      while (pools.length > 1 && pools[pools.length - 2][0] >= pools[pools.length - 1][0]) {
        const [mean, weight, members] = pools.pop();
        const last = pools[pools.length - 1];
        last[0] = (last[0] * last[1] + mean * weight) / (last[1] + weight);
        last[1] += weight;
        last[2] += members;
      }
    });
    let place = 0;
    for (const [mean, , members] of pools)
      for (let n = 0; n < members; n++, place++) this.x[row[place]] = mean + offsets[place];
  }
}

// The Placed of each group in `opened`, inner ones first.
function placeGroups(levels, opened, extents) {
  const placed = new Map();
  const ports = (key, kind, signal) => {
    const inner = kindOf(key) === "group" ? placed.get(numberOf(key)) : undefined;
    if (!inner) return 0;
    const port = inner.level.spots.indexOf(`${kind}-${numberOf(signal)}`);
    return inner.x[port] - inner.width / 2;
  };
  const size = key => {
    if (key === null || kindOf(key) === "in" || kindOf(key) === "out") return [0, 0, 0];
    const inner = kindOf(key) === "group" ? placed.get(numberOf(key)) : undefined;
    return inner ? [inner.width / 2, inner.width / 2, inner.whole] : extents[key];
  };
  for (let number = levels.length - 1; number >= 0; number--) {
    if (!opened.has(number)) continue;
    const level = levels[number];
    placed.set(number, new Placed(level, level.spots.map(size), ports).place(number > 0));
  }
  return placed;
}
