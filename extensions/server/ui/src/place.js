// Where tags lie on the map. A place follows from names and weights alone, so the same
// neighbourhood looks the same tomorrow, and a few new tags move the others little.

/** A number in [0, 1) from a text (FNV-1a, stirred). */
export function hashed(text) {
  let hash = 2166136261;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 16777619);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  hash ^= hash >>> 12;
  return (hash >>> 0) / 2 ** 32;
}

const ROUNDS = 120;

/** Return x and y of each node: the tag asked for in the middle, strong neighbours near it. */
export function places(nodes, edges) {
  const most = Math.max(...nodes.slice(1).map((node) => node.weight), 1);
  const sparse = Math.sqrt(nodes.length);
  const points = nodes.map((node, at) => {
    if (at === 0) return { x: 0, y: 0 };
    const own = hashed(node.tag);
    // A colony has a direction, and its tags lie around it.
    const angle = 2 * Math.PI * (node.colony === null ? own
      : hashed(`colony ${node.colony}`) + (own - 0.5) * 0.28);
    const near = Math.log1p(node.weight) / Math.log1p(most);
    const radius = sparse * (1.2 - 0.75 * near + 0.25 * hashed(`${node.tag}\n`));
    return { x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
  });
  const home = points.map(({ x, y }) => ({ x, y }));
  for (let round = 0; round < ROUNDS; round += 1) {
    const cooling = 1 - round / ROUNDS;
    attract(points, edges, 0.02 * cooling);
    part(points, 1.25);
    for (let at = 1; at < points.length; at += 1) {
      points[at].x += 0.06 * (home[at].x - points[at].x);
      points[at].y += 0.06 * (home[at].y - points[at].y);
    }
    points[0].x = points[0].y = 0;
  }
  return points;
}

function attract(points, edges, strength) {
  for (const { source, target } of edges) {
    if (source === 0) continue;
    const [a, b] = [points[source], points[target]];
    const [dx, dy] = [b.x - a.x, b.y - a.y];
    a.x += strength * dx;
    a.y += strength * dy;
    b.x -= strength * dx;
    b.y -= strength * dy;
  }
}

/** Push points apart that are nearer than `least`; a grid finds them. */
function part(points, least) {
  const cells = new Map();
  const cell = (value) => Math.floor(value / least);
  points.forEach((point, at) => {
    const key = `${cell(point.x)} ${cell(point.y)}`;
    if (!cells.has(key)) cells.set(key, []);
    cells.get(key).push(at);
  });
  points.forEach((a, at) => {
    for (let column = cell(a.x) - 1; column <= cell(a.x) + 1; column += 1) {
      for (let row = cell(a.y) - 1; row <= cell(a.y) + 1; row += 1) {
        for (const other of cells.get(`${column} ${row}`) || []) {
          if (other <= at) continue;
          const b = points[other];
          const [dx, dy] = [b.x - a.x || 1e-3 * (other - at), b.y - a.y];
          const distance = Math.hypot(dx, dy);
          if (distance >= least) continue;
          const push = (least - distance) / 2 / distance;
          a.x -= push * dx;
          a.y -= push * dy;
          b.x += push * dx;
          b.y += push * dy;
        }
      }
    }
  });
}
