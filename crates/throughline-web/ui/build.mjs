// Bundles the page into the folder that the first argument names.

import { copyFileSync, mkdirSync } from "node:fs";
import { buildSync } from "esbuild";

const dist = process.argv[2];
mkdirSync(dist, { recursive: true });
buildSync({
  entryPoints: { app: "main.tsx" },
  outdir: dist,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  logLevel: "warning",
});
buildSync({ entryPoints: { app: "style.css" }, outdir: dist, minify: true, logLevel: "warning" });
for (const name of ["index.html", "icon.svg"]) copyFileSync(name, `${dist}/${name}`);
