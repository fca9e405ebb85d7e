// Charts: lines, dots and bars by uPlot, heat maps as SVG.

import { uPlot } from "./vendor/vendor.js";
import { numberText, svg } from "./dom.js";
import { color } from "./theme.js";

// The line below a chart that names its series.
const LEGEND = 48;
const SERIES = ["s1", "s2", "s3", "s4", "s5", "s6"];

/** Draw what `readChart` has read into an element, in the colours of the theme. */
export function draw(host, chart, titles) {
  host.replaceChildren();
  if (chart.kind === "heat") {
    host.append(heat(chart, titles));
    return;
  }
  const { data, series, x } = SHAPES[chart.kind](chart);
  const axis = { stroke: color("ink"), grid: { stroke: color("line"), width: 0.5 }, ticks: { stroke: color("line"), width: 0.5 }, labelFont: "13px system-ui, sans-serif" };
  const made = new uPlot({
    width: Math.max(host.clientWidth, 320), height: Math.max(host.clientHeight - LEGEND, 200),
    padding: [null, x.isTurned ? 70 : null, null, null],
    scales: { x: { time: Boolean(chart.isTime), ...x.scale }, y: x.fromZero ? { range: (_, low, high) => [Math.min(low, 0), Math.max(high * 1.05, 1e-12)] } : {} },
    axes: [{ ...axis, label: titles.x, ...(chart.isTime ? { values: moments, space: 110 } : {}), ...x.axis }, { ...axis, label: titles.y, size: 70, values: (_, ticks) => ticks.map(numberText) }],
    series: [{ label: titles.x, ...(chart.isTime ? { value: (_, value) => (value ? moments(_, [value], 0, 0, 60)[0] : "") } : {}), ...x.series }, ...series.map((each) => ({ ...each, value: (_, value) => (value === null || value === undefined ? "" : numberText(value)) }))],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "Etc/UTC"),
    legend: { show: true },
  }, data, host);
  made.root.querySelector("canvas").setAttribute("role", "img");
  made.root.querySelector("canvas").setAttribute("aria-label", `${titles.y} by ${titles.x}`);
}

/** Write the ticks of a time axis: days, or hours and minutes too. */
function moments(_, ticks, axis, space, step) {
  return ticks.map((seconds) => {
    const text = new Date(seconds * 1e3).toISOString();
    return step >= 86_400 ? text.slice(0, 10) : `${text.slice(5, 10)} ${text.slice(11, step >= 60 ? 16 : 19)}`;
  });
}

const SHAPES = {
  line: (chart) => ({
    data: [chart.x, ...chart.lines.map((line) => line.values)], x: {},
    series: chart.lines.map((line, place) => ({
      label: line.name || "value", stroke: color(SERIES[place % SERIES.length]), width: 2, spanGaps: true,
      points: { show: chart.x.length < 60, size: 5 },
    })),
  }),
  scatter: (chart) => ({
    data: [chart.x, chart.y], x: {},
    series: [{ label: "value", stroke: color("s1"), paths: () => null, points: { show: true, size: 4, fill: color("s1") } }],
  }),
  bar: (chart) => ({
    data: [chart.labels.map((_, place) => place), chart.values],
    x: {
      isTurned: chart.labels.length > 8, fromZero: true,
      scale: { range: [-0.6, chart.labels.length - 0.4] },
      axis: {
        splits: () => chart.labels.map((_, place) => place), values: () => chart.labels.map((label) => (label.length > 18 ? `${label.slice(0, 17)}…` : label)),
        rotate: chart.labels.length > 8 ? -50 : 0, size: chart.labels.length > 8 ? 110 : 40, grid: { show: false },
      },
      series: { value: (_, place) => chart.labels[place] ?? "" },
    },
    series: [bars(0.8)],
  }),
  histogram: (chart) => ({
    data: [chart.x.map((low) => low + chart.width / 2), chart.values],
    x: { fromZero: true, scale: chart.x.length ? { range: [chart.x[0], chart.x.at(-1) + chart.width] } : {} }, series: [bars(0.96)],
  }),
};

function bars(share) {
  return { label: "value", stroke: color("s1"), fill: color("s1"), width: 0, paths: uPlot.paths.bars({ size: [share, 120] }), points: { show: false } };
}

function heat(chart, titles) {
  const { x, y } = chart;
  const most = Math.max(...chart.cells.map(([, , count]) => count), 1);
  const left = 120, top = 10, width = 900, height = 420;
  const wide = width / Math.max(x.values.length, 1), high = height / Math.max(y.values.length, 1);
  const label = (axis, value) => (!axis.isNumber ? String(value).slice(0, 16) : axis.isTime ? new Date(value * 1e3).toISOString().slice(0, 10) : numberText(value));
  const places = (axis) => new Map(axis.values.map((value, place) => [value, place]));
  const [column, row] = [places(x), places(y)];
  const every = (axis, room) => Math.max(Math.ceil(axis.values.length / room), 1);
  const texts = [
    ...x.values.map((value, place) => place % every(x, 9) ? null : svg("text", { x: left + (place + 0.5) * wide, y: top + height + 18, "text-anchor": "middle" }, label(x, value))),
    ...y.values.map((value, place) => place % every(y, 20) ? null : svg("text", { x: left - 8, y: top + height - (place + 0.5) * high + 4, "text-anchor": "end" }, label(y, value))),
    svg("text", { x: left + width / 2, y: top + height + 40, "text-anchor": "middle", class: "title" }, titles.x),
    svg("text", { x: 16, y: top + height / 2, "text-anchor": "middle", class: "title", transform: `rotate(-90 16 ${top + height / 2})` }, titles.y),
  ].filter(Boolean);
  const cells = chart.cells.filter(([a, b]) => column.has(a) && row.has(b)).map(([a, b, count]) =>
    svg("rect", {
      x: left + column.get(a) * wide, y: top + height - (row.get(b) + 1) * high, width: Math.max(wide - 1, 1), height: Math.max(high - 1, 1),
      "fill-opacity": (0.12 + 0.88 * count / most).toFixed(3),
    }, svg("title", {}, `${label(x, a)}, ${label(y, b)}: ${numberText(count)}`)));
  return svg("svg", { viewBox: `0 0 ${left + width + 10} ${top + height + 50}`, class: "heat", role: "img", "aria-label": `Counts by ${titles.x} and ${titles.y}` }, ...cells, ...texts);
}
