// Bundles the page into the folder that the first argument names.

import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { buildSync } from "esbuild";

const dist = process.argv[2];
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
const script = {
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none",
  logLevel: "warning",
};
// The colors of code are a file of their own, which is loaded when code is first shown.
buildSync({ ...script, entryPoints: { highlight: "highlight.ts" }, outdir: dist });
buildSync({
  ...script,
  // The screens that few open first are a file of their own; `shared` is what both need.
  entryPoints: { app: "main.tsx", more: "more.ts" },
  splitting: true,
  chunkNames: "shared",
  outdir: dist,
  jsx: "automatic",
  jsxImportSource: "preact",
});
buildSync({ entryPoints: { app: "style.css" }, outdir: dist, bundle: true, minify: true, logLevel: "warning" });
for (const name of ["index.html", "icon.svg"]) copyFileSync(name, `${dist}/${name}`);
