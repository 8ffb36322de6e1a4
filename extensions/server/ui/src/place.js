// Where tags lie on the map. A place follows from names and weights alone, so the same
// neighbourhood looks the same tomorrow. No label covers another.

/** A number in [0, 1) from a text (FNV-1a, stirred). */
export function hashed(text) {
  let hash = 2166136261;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 16777619);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  hash ^= hash >>> 12;
  return (hash >>> 0) / 2 ** 32;
}

const ROUNDS = 150;
const HIGH = 26;
const LONGEST = 28;
const canvas = document.createElement("canvas").getContext("2d");

/** Give a node its label and the room that it takes: a dot, and the label right of it. */
function measured(node) {
  node.label = node.tag.length > LONGEST ? `${node.tag.slice(0, LONGEST - 1)}…` : node.tag;
  canvas.font = "600 13px system-ui, sans-serif";
  node.wide = canvas.measureText(node.label).width + 32;
}

/** Place nodes in a frame: the first in the middle, strong neighbours near it, colonies together. */
export function places(nodes, edges, width, height) {
  nodes.forEach(measured);
  const weights = nodes.slice(1).map((node) => Math.log1p(node.weight));
  const [least, most] = [Math.min(...weights), Math.max(...weights)];
  // All around, tags of a colony side by side.
  const order = nodes.slice(1).map((node) => [node.colony === null ? 0 : hashed(`colony ${node.colony}`), hashed(node.tag), node])
    .sort(([a, b], [c, d]) => a - c || b - d).map(([, , node]) => node);
  nodes.forEach((node, at) => {
    const angle = at ? (2 * Math.PI * order.indexOf(node)) / order.length : 0; // a tag may be alone
    const near = most > least ? (Math.log1p(node.weight) - least) / (most - least) : 0;
    const far = at === 0 ? 0 : 1 - 0.55 * near;
    node.homeX = node.x = far * (width / 2 - 60) * Math.cos(angle) - (at ? node.wide / 2 - 16 : 0);
    node.homeY = node.y = far * (height / 2 - 24) * Math.sin(angle);
  });
  for (let round = 0; round < ROUNDS; round += 1) {
    const strength = 0.01 * (1 - round / ROUNDS);
    for (const { a, b } of edges) {
      if (a === 0) continue;
      const [dx, dy] = [nodes[b].x - nodes[a].x, nodes[b].y - nodes[a].y];
      nodes[a].x += strength * dx;
      nodes[a].y += strength * dy;
      nodes[b].x -= strength * dx;
      nodes[b].y -= strength * dy;
    }
    for (const node of nodes) {
      node.x += 0.05 * (node.homeX - node.x);
      node.y += 0.05 * (node.homeY - node.y);
    }
    part(nodes, new Set([nodes[0]]));
  }
  apart(nodes, new Set([nodes[0]]));
}

/** Place fresh nodes around one that was expanded; the others make room. */
export function settle(nodes, centre, fresh) {
  fresh.forEach((node) => {
    measured(node);
    const angle = 2 * Math.PI * hashed(node.tag);
    Object.assign(node, { x: centre.x + 110 * Math.cos(angle), y: centre.y + 70 * Math.sin(angle) });
  });
  apart(nodes, new Set([centre]));
}

function apart(nodes, fixed) {
  for (let round = 0; round < 400 && part(nodes, fixed); round += 1);
}

/** Push labels apart where they overlap, along the shorter way; say whether any did. */
function part(nodes, fixed) {
  let any = false;
  nodes.forEach((a, at) => {
    for (const b of nodes.slice(at + 1)) {
      const [dx, dy] = [b.x + b.wide / 2 - (a.x + a.wide / 2), b.y - a.y];
      const overX = (a.wide + b.wide) / 2 - Math.abs(dx);
      const overY = HIGH - Math.abs(dy);
      if (overX <= 0.1 || overY <= 0.1) continue;
      any = true;
      const [axis, by] = overY < overX ? ["y", overY * (dy < 0 ? -1 : 1)] : ["x", overX * (dx < 0 ? -1 : 1)];
      const share = fixed.has(a) ? 0 : fixed.has(b) ? 1 : 0.5;
      a[axis] -= share * by;
      b[axis] += (1 - share) * by;
    }
  });
  return any;
}

/** The frame that holds all nodes, at least as large as the picture. */
export function boxOf(nodes, width, height) {
  const left = Math.min(...nodes.map((node) => node.x - 18));
  const right = Math.max(...nodes.map((node) => node.x - 18 + node.wide));
  const top = Math.min(...nodes.map((node) => node.y - HIGH));
  const bottom = Math.max(...nodes.map((node) => node.y + HIGH));
  const [wide, high] = [Math.max(right - left, width), Math.max(bottom - top, height)];
  return { left: (left + right - wide) / 2, top: (top + bottom - high) / 2, width: wide, height: high };
}
