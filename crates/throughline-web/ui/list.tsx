// The list of a timeline: only the rows in view are drawn, whatever the length.

import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { ELEMENT_HEIGHT_MAX } from "./heights";
import { Row, openedSubagents } from "./rows";
import {
  compactions, current, details, entry, found, isCut, isFollowing, loadPageOf, recordAt, releaseTarget, rowCount, rowHeights, subagents, targetRow,
  toggled, total, version,
} from "./timeline";

/** Rows are drawn this far beyond the edges, in pixels. */
const MARGIN = 600;

export function TimelineList(): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const scroll = useRef(0);
  void version.value;
  const opened = openedSubagents.value;
  const heights = rowHeights();
  const target = targetRow();
  const tall = heights.total;
  const scale = Math.max(1, tall / ELEMENT_HEIGHT_MAX);
  const viewport = frame.current?.clientHeight ?? 800;
  if (target !== undefined) scroll.current = Math.max(0, heights.before(target) - viewport / 3) / scale;
  const offset = scroll.current * scale;
  const first = heights.at(Math.max(0, offset - MARGIN));
  const last = Math.min(rowCount(), heights.at(offset + viewport + MARGIN) + 1);
  const rows: number[] = [];
  for (let row = first; row < last; row++) rows.push(row);
  useEffect(() => {
    for (const row of rows) void loadPageOf(row);
  });
  // Rows are measured once they are drawn. What changes above the view moves the view along.
  useLayoutEffect(() => {
    let moved = 0;
    let changed = false;
    for (const child of inner.current?.children ?? []) {
      const row = Number((child as HTMLElement).dataset["row"]);
      const before = heights.get(row);
      const height = (child as HTMLElement).offsetHeight;
      if (height > 0 && heights.set(row, height)) {
        changed = true;
        if (target === undefined && heights.before(row) + before < offset) moved += height - before;
      }
    }
    const box = frame.current!;
    if (target !== undefined) {
      const wanted = Math.max(0, heights.before(target) - box.clientHeight / 3) / scale;
      if (Math.abs(box.scrollTop - wanted) > 1) box.scrollTop = wanted;
      scroll.current = box.scrollTop;
    } else if (moved !== 0) {
      box.scrollTop += moved / scale;
      scroll.current = box.scrollTop;
    }
    if (changed) version.value++;
  });
  // What unfolds inside a row changes its height without a new draw.
  useEffect(() => {
    const observer = new ResizeObserver(() => version.value++);
    observer.observe(inner.current!);
    return () => observer.disconnect();
  }, []);
  const words = found.value?.words;
  const draw = (row: number) => {
    const n = recordAt(row);
    const record = entry(n);
    if (!record) return <div class="row skeleton-row" />;
    return (
      <Row
        record={record} total={total.value} isCurrent={n === current.value} isUnfolded={toggled.value.has(n)} words={words}
        child={subagents.value.get(n)} taken={compactions.value.get(n)} isCutNow={isCut(record)} openedBy={subagents.value.has(n) ? opened : undefined}
      />
    );
  };
  return (
    <div
      ref={frame}
      class="timeline"
      role="feed"
      aria-label="Timeline"
      aria-busy={details.value === undefined}
      tabIndex={0}
      onWheel={() => { releaseTarget(); isFollowing.value = false; }}
      onPointerDown={releaseTarget}
      onTouchStart={() => { releaseTarget(); isFollowing.value = false; }}
      onScroll={(event) => {
        const top = event.currentTarget.scrollTop;
        if (Math.abs(top - scroll.current) < 1) return;
        scroll.current = top;
        version.value++;
      }}
    >
      <div class="timeline-space" style={{ height: `${Math.min(tall, ELEMENT_HEIGHT_MAX)}px` }}>
        <div ref={inner} class="timeline-rows" style={{ transform: `translateY(${heights.before(first) - offset + scroll.current}px)` }}>
          {rows.map((row) => <div key={recordAt(row)} data-row={row}>{draw(row)}</div>)}
        </div>
      </div>
    </div>
  );
}
