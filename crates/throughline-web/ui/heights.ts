// The heights of the rows of a long list, with sums in logarithmic time (a Fenwick tree).

/** Browsers limit the height of an element; taller lists are scaled. */
export const ELEMENT_HEIGHT_MAX = 15_000_000;

export class Heights {
  private readonly tree: Float64Array;
  private readonly rows: Float64Array;

  constructor(readonly count: number, usual: number, earlier?: Heights) {
    this.rows = new Float64Array(count).fill(usual);
    if (earlier) this.rows.set(earlier.rows.subarray(0, Math.min(count, earlier.count)));
    this.tree = new Float64Array(count + 1);
    for (let at = 1; at <= count; at++) {
      this.tree[at]! += this.rows[at - 1]!;
      const parent = at + (at & -at);
      if (parent <= count) this.tree[parent]! += this.tree[at]!;
    }
  }

  get(row: number): number {
    return this.rows[row] ?? 0;
  }

  /** Sets the height of a row; says whether it changed. */
  set(row: number, height: number): boolean {
    const change = height - this.rows[row]!;
    if (Math.abs(change) < 0.5) return false;
    this.rows[row] = height;
    for (let at = row + 1; at <= this.count; at += at & -at) this.tree[at]! += change;
    return true;
  }

  /** The height of all rows before a row. */
  before(row: number): number {
    let sum = 0;
    for (let at = Math.min(row, this.count); at > 0; at -= at & -at) sum += this.tree[at]!;
    return sum;
  }

  get total(): number {
    return this.before(this.count);
  }

  /** The row at a distance from the top. */
  at(offset: number): number {
    let row = 0;
    let left = offset;
    let step = 1 << Math.floor(Math.log2(Math.max(1, this.count)));
    for (; step > 0; step >>= 1) {
      const next = row + step;
      if (next <= this.count && this.tree[next]! <= left) {
        row = next;
        left -= this.tree[next]!;
      }
    }
    return Math.min(row, Math.max(0, this.count - 1));
  }
}
