// Components that are drawn again only when their properties change.

import { Component, type FunctionComponent, type JSX, createElement } from "preact";

export function memo<P extends object>(draw: (props: P) => JSX.Element): FunctionComponent<P> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const keys = Object.keys(next) as (keyof P)[];
      return keys.length !== Object.keys(this.props).length || keys.some((key) => next[key] !== (this.props as P)[key]);
    }
    override render() {
      return createElement(draw as FunctionComponent<P>, this.props as P);
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}
