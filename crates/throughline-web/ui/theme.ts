// The theme and the size of the text, which this browser remembers.

import { effect, signal } from "@preact/signals";

type Theme = "" | "light" | "dark";

export const theme = signal<Theme>((localStorage.getItem("throughline-theme") as Theme | null) ?? "");
export const textSize = signal(Number(localStorage.getItem("throughline-text-size") ?? 100));

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
/** Whether the system is dark, for what is drawn on a canvas. */
export const systemTheme = signal(prefersDark.matches);
prefersDark.addEventListener("change", () => (systemTheme.value = prefersDark.matches));

export function setTheme(next: Theme): void {
  localStorage.setItem("throughline-theme", next);
  theme.value = next;
}

export function setTextSize(percent: number): void {
  localStorage.setItem("throughline-text-size", String(percent));
  textSize.value = percent;
}

effect(() => {
  if (theme.value) document.documentElement.dataset["theme"] = theme.value;
  else delete document.documentElement.dataset["theme"];
});
effect(() => {
  document.documentElement.style.fontSize = `${textSize.value}%`;
});
