// Compares two ways to draw the page's charts: SVG, as the page does, and uPlot on a canvas. Prints
// the bytes of script and style that each needs, and the time from the call to the painted chart.
//
// Usage: node charts.mjs

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const uplot = createRequire(import.meta.url).resolve("uplot");
const script = readFileSync(uplot.replace(/[^/]*$/, "uPlot.iife.min.js"), "utf8");
const style = readFileSync(uplot.replace(/[^/]*$/, "uPlot.min.css"), "utf8");

/** One series as an SVG path with its axis; minified by hand as esbuild would. */
const svg = `function drawSvg(p,x,y){let m=1;for(const v of y)if(v>m)m=v;let d="";for(let i=0;i<x.length;i++)d+=(i?"L":"M")+(600*i/x.length).toFixed(1)+" "+(200-190*y[i]/m).toFixed(1);const n="http://www.w3.org/2000/svg",s=document.createElementNS(n,"svg");s.setAttribute("viewBox","0 0 640 220");s.setAttribute("width","640");const a=document.createElementNS(n,"path");a.setAttribute("d",d);a.setAttribute("fill","none");a.setAttribute("stroke","currentColor");s.append(a);for(let i=0;i<5;i++){const t=document.createElementNS(n,"text");t.setAttribute("x","604");t.setAttribute("y",200-47*i);t.textContent=Math.round(m*i/4);s.append(t)}p.append(s)}`;

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
await page.setContent(`<style>${style}</style><div id="place"></div>`);
const loaded = await page.evaluate((script) => {
  const start = performance.now();
  (0, eval)(`${script};window.uPlot=uPlot`);
  return performance.now() - start;
}, script);
await page.evaluate((svg) => (0, eval)(`${svg};window.drawSvg=drawSvg`), svg);

/** The times of `rounds` charts of `points` points, from the call to the frame after the paint. */
const measure = (kind, points, rounds) => page.evaluate(async ([kind, points, rounds]) => {
  const x = Array.from({ length: points }, (_, at) => 1.7e9 + at * 86_400);
  const y = x.map((_, at) => (at * 7919) % 1000);
  const painted = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  const found = [];
  for (let round = 0; round < rounds; round++) {
    const place = document.createElement("div");
    document.getElementById("place").replaceChildren(place);
    await painted();
    // A frame begins here, so that the time until the paint has no waiting for it.
    await new Promise((resolve) => requestAnimationFrame(resolve));
    const start = performance.now();
    if (kind === "svg") window.drawSvg(place, x, y);
    else new window.uPlot({ width: 640, height: 220, series: [{}, { stroke: "blue" }] }, [x, y], place);
    await new Promise((resolve) => setTimeout(resolve));
    found.push(performance.now() - start);
  }
  return found.sort((a, b) => a - b);
}, [kind, points, rounds]);

console.log(`bytes: SVG ${svg.length}, uPlot ${script.length + style.length}; evaluating uPlot ${loaded.toFixed(1)} ms`);
for (const points of [60, 400, 5_000, 50_000]) {
  const figures = [];
  for (const kind of ["svg", "uplot"]) {
    await measure(kind, points, 3);
    const times = await measure(kind, points, 15);
    figures.push(`${kind === "svg" ? "SVG" : "uPlot"} p50 ${times[7].toFixed(1)} p95 ${times[14].toFixed(1)} ms`);
  }
  console.log(`${String(points).padStart(6)} points: ${figures.join(", ")}`);
}
await browser.close();
