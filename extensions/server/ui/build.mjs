// Builds the page: everything it needs, in six files, the same on every machine. `node build.mjs DIR`
// builds it elsewhere.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, rmSync, mkdirSync, writeFileSync, copyFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "..", "hebbgraph_server", "page");
const source = join(here, "src");

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const result = await build({
  absWorkingDir: here,
  entryPoints: { page: "src/main.js", style: "src/style.css" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  metafile: true,
});
for (const name of ["index.html", "icon.svg"]) copyFileSync(join(source, name), join(out, name));

// The licences of what was bundled.
const bundled = new Set();
for (const path of Object.keys(result.metafile.inputs)) {
  const found = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
  if (found) bundled.add(found[1]);
}
const licences = [...bundled].sort().map((name) => {
  const folder = join(here, "node_modules", name);
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const text = file ? readFileSync(join(folder, file), "utf8").trim() : `Licence: ${about.license}`;
  return `${name} ${about.version}\n${"=".repeat(72)}\n${text}\n`;
});
writeFileSync(join(out, "LICENSES.txt"), licences.join("\n"));

// What it was built from; a test compares this with the sources.
const hash = createHash("sha256");
for (const name of readdirSync(source).sort()) hash.update(name).update(readFileSync(join(source, name)));
writeFileSync(join(out, "SOURCE"), `${hash.digest("hex")}\n`);
