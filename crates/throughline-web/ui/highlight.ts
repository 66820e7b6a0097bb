// Splits code into colored pieces. Only the tokenizer of Prism is used; it makes no markup.

import Prism, { type Token } from "prismjs";
import "prismjs/components/prism-typescript";
import "prismjs/components/prism-python";
import "prismjs/components/prism-rust";
import "prismjs/components/prism-bash";
import "prismjs/components/prism-json";
import "prismjs/components/prism-toml";
import "prismjs/components/prism-yaml";
import "prismjs/components/prism-sql";
import "prismjs/components/prism-go";

const NAMES: Record<string, string> = {
  js: "javascript", jsx: "javascript", mjs: "javascript", ts: "typescript", tsx: "typescript", py: "python", python3: "python",
  rs: "rust", sh: "bash", shell: "bash", zsh: "bash", console: "bash", jsonl: "json", yml: "yaml", html: "markup", xml: "markup",
};

function flatten(pieces: (string | Token)[], type: string, into: [string, string][]): void {
  for (const piece of pieces) {
    if (typeof piece === "string") into.push([type, piece]);
    else flatten(Array.isArray(piece.content) ? piece.content : [piece.content], piece.type, into);
  }
}

export function tokens(text: string, language: string): [type: string, text: string][] | undefined {
  const grammar = Prism.languages[NAMES[language] ?? language];
  if (!grammar || typeof grammar === "function") return undefined;
  const flat: [string, string][] = [];
  flatten(Prism.tokenize(text, grammar), "", flat);
  return flat;
}
