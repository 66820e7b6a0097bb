// The part of Prism that the page uses, which ships no types.

declare module "prismjs" {
  export interface Token {
    type: string;
    content: string | Token | (string | Token)[];
  }
  const Prism: {
    languages: Record<string, unknown>;
    tokenize(text: string, grammar: unknown): (string | Token)[];
  };
  export default Prism;
}
declare module "prismjs/components/*";
