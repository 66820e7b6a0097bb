// Formatted text, from the blocks that the daemon parsed. Nothing here parses markup.

import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { memo } from "./memo";
import { visible } from "./text";

export type Inline =
  | { t: "text" | "code"; s: string }
  | { t: "strong" | "emphasis" | "strike"; i: Inline[] }
  | { t: "link"; href: string; i: Inline[] }
  | { t: "break" };

export type Block =
  | { t: "paragraph"; i: Inline[] }
  | { t: "heading"; level: number; i: Inline[] }
  | { t: "code"; lang: string; text: string }
  | { t: "list"; start: number | null; items: Block[][] }
  | { t: "quote"; b: Block[] }
  | { t: "table"; head: Inline[][]; rows: Inline[][][] }
  | { t: "rule" };

type Tokenizer = (text: string, language: string) => [string, string][] | undefined;
const tokenizer = signal<Tokenizer | undefined>(undefined);
let isLoading = false;

/** Loads the colors of code once code is shown. */
function loadTokenizer(): void {
  if (isLoading) return;
  isLoading = true;
  const path = "/ui/highlight.js";
  (import(path) as Promise<{ tokens: Tokenizer }>).then((module) => (tokenizer.value = module.tokens), (error) => console.warn(`no colors for code: ${error}`));
}

/** Longer code stays plain: coloring it would hold up scrolling. */
const COLORED_MAX = 20_000;

export const Code = memo(function Code({ text, lang }: { text: string; lang: string }): JSX.Element {
  if (lang) loadTokenizer();
  const pieces = lang && text.length <= COLORED_MAX ? tokenizer.value?.(text, lang) : undefined;
  return (
    <pre class="code" dir="ltr">
      <code>{pieces ? pieces.map(([type, piece]) => (type ? <span class={`c-${type}`}>{visible(piece)}</span> : visible(piece))) : visible(text)}</code>
    </pre>
  );
});

function inline(piece: Inline): ComponentChildren {
  switch (piece.t) {
    case "text": return visible(piece.s);
    case "code": return <code>{visible(piece.s)}</code>;
    case "strong": return <strong>{piece.i.map(inline)}</strong>;
    case "emphasis": return <em>{piece.i.map(inline)}</em>;
    case "strike": return <del>{piece.i.map(inline)}</del>;
    case "break": return <br />;
    case "link":
      // The address comes from a transcript, so it is shown and told nothing about this page.
      return <a href={piece.href} title={piece.href} target="_blank" rel="noreferrer noopener">{piece.i.map(inline)}</a>;
  }
}

function block(part: Block): ComponentChildren {
  switch (part.t) {
    case "paragraph": return <p dir="auto">{part.i.map(inline)}</p>;
    // A heading of a transcript is no heading of the page.
    case "heading": return <p class={`heading heading-${Math.min(part.level, 3)}`} dir="auto">{part.i.map(inline)}</p>;
    case "code": return <Code text={part.text.replace(/\n$/, "")} lang={part.lang} />;
    case "quote": return <blockquote>{part.b.map(block)}</blockquote>;
    case "rule": return <hr />;
    case "list": {
      const items = part.items.map((item) => <li>{item.map(block)}</li>);
      return part.start === null ? <ul>{items}</ul> : <ol start={part.start}>{items}</ol>;
    }
    case "table":
      return (
        <div class="scroll-x">
          <table>
            <thead><tr>{part.head.map((cell) => <th>{cell.map(inline)}</th>)}</tr></thead>
            <tbody>{part.rows.map((row) => <tr>{row.map((cell) => <td>{cell.map(inline)}</td>)}</tr>)}</tbody>
          </table>
        </div>
      );
  }
}

export const Blocks = memo(function Blocks({ blocks }: { blocks: Block[] }): JSX.Element {
  return <div class="prose">{blocks.map(block)}</div>;
});
