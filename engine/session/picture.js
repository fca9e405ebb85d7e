// Draws the picture of a fused job: in the page of EXPLAIN (FORMAT HTML), and in that of `raydb ui`,
// which gets it as a module. Names and constants are texts, whatever they hold.

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

function add(parent, tag, text, className) {
  const element = parent.appendChild(document.createElement(tag));
  if (text) element.textContent = text;
  if (className) element.className = className;
  return element;
}

// Points, slabs and rays in a box that can be turned: x to the right, y into the depth, z upwards.
function drawPicture(home, picture, number) {
  add(home, "h2", "The rows as points (measure, group, cell)" + (number ? " of job " + (number + 1) : ""));
  const drawn = picture.slabs.length < picture.slab_count ? ", drawn as " + picture.slabs.length : "";
  add(home, "p", "The cells are " + picture.cell_count.toLocaleString() + " places along the axis that the BVH is sorted by; " +
    "the job reads " + picture.slab_count.toLocaleString() + (picture.slab_count === 1 ? " interval" : " intervals") + " of them" + drawn + ". A ray goes through each " +
    "interval for each lane of groups, and meets the rows in it: what lies outside of the slabs costs nothing. " +
    "These are " + picture.points.length.toLocaleString() + " rows of a sample, which has more of those that are read. " +
    "Drag to turn.");
  const legend = add(home, "p", "", "legend");
  for (const [name, text] of [["unread", "rows not touched"], ["read", "rows read and left out by a code of their own"],
                              ["fused", "rows counted"], ["slab", "intervals (slabs) and rays"]]) {
    const item = add(legend, "span");
    add(item, "i").style.background = "var(--" + name + ")";
    item.append(text);
  }
  const canvas = add(home, "canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "rows as points in (measure, group, cell) space");
  let turn = 0.6, tilt = 0.35, held = null;

  function draw() {
    const scale = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    canvas.width = width * scale; canvas.height = height * scale;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale); pen.clearRect(0, 0, width, height);
    const size = Math.min(width * 0.36, height * 0.62);
    const cos = Math.cos(turn), sin = Math.sin(turn), cosTilt = Math.cos(tilt), sinTilt = Math.sin(tilt);
    const at = (x, y, z) => {
      const a = x - 0.5, b = y - 0.5, c = z - 0.5;
      const across = a * cos + b * sin, deep = b * cos - a * sin;
      return [width / 2 + 1.5 * size * across, height / 2 - size * (c * cosTilt + deep * sinTilt)];
    };
    const path = (points, close) => {
      pen.beginPath();
      points.forEach(([x, y, z], i) => { const [u, v] = at(x, y, z); i ? pen.lineTo(u, v) : pen.moveTo(u, v); });
      if (close) pen.closePath();
    };
    const cell = (z) => z / picture.cell_count;
    pen.strokeStyle = color("line"); pen.lineWidth = 1;
    for (const z of [0, 1]) { path([[0, 0, z], [1, 0, z], [1, 1, z], [0, 1, z]], true); pen.stroke(); }
    for (const [x, y] of [[0, 0], [1, 0], [1, 1], [0, 1]]) { path([[x, y, 0], [x, y, 1]]); pen.stroke(); }
    pen.fillStyle = color("slab"); pen.strokeStyle = color("slab");
    for (const [first, end] of picture.slabs) {
      const low = cell(first), high = Math.max(cell(end), low + 0.002);
      pen.globalAlpha = Math.max(0.005, Math.min(0.15, 0.5 / picture.slabs.length));
      for (const z of [low, high]) { path([[0, 0, z], [1, 0, z], [1, 1, z], [0, 1, z]], true); pen.fill(); }
      path([[0, 0, low], [1, 0, low], [1, 0, high], [0, 0, high]], true); pen.fill();
      pen.globalAlpha = Math.max(0.08, Math.min(0.5, 5 / picture.slabs.length));
      for (const y of picture.rays) { for (const x of [0.2, 0.5, 0.8]) { path([[x, y, low], [x, y, high]]); pen.stroke(); } }
    }
    const looks = [["unread", 0.6, 1.1], ["read", 0.8, 1.5], ["fused", 0.95, 1.8]];
    looks.forEach(([name, alpha, radius], state) => {
      pen.globalAlpha = alpha; pen.fillStyle = color(name);
      for (const [x, y, z, of] of picture.points) {
        if (of !== state) continue;
        const [u, v] = at(x, y, cell(z + 0.5));
        pen.beginPath(); pen.arc(u, v, radius, 0, 7); pen.fill();
      }
    });
    pen.globalAlpha = 1; pen.fillStyle = color("ink"); pen.font = "12px system-ui, sans-serif"; pen.textAlign = "center";
    const label = (text, x, y, z) => { const [u, v] = at(x, y, z); pen.fillText(text, u, v); };
    const [measure, group, cells] = picture.axes;
    label(measure.title, 0.5, -0.14, -0.10); label(measure.low, 0, -0.10, -0.06); label(measure.high, 1, -0.10, -0.06);
    label(group.title, 1.14, 0.5, -0.10); label(group.low, 1.09, 0, -0.03); label(group.high, 1.09, 1, -0.03);
    label(cells.title, -0.10, -0.05, 0.5); label(cells.low, -0.08, -0.03, 0.02); label(cells.high, -0.08, -0.03, 1);
  }

  canvas.addEventListener("pointerdown", (event) => {
    held = [event.clientX, event.clientY]; canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) return;
    turn += (event.clientX - held[0]) / 200;
    tilt = Math.max(-1.5, Math.min(1.5, tilt + (event.clientY - held[1]) / 200));
    held = [event.clientX, event.clientY]; draw();
  });
  new ResizeObserver(draw).observe(canvas);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  draw();
  canvas.dataset.points = picture.points.length;
}
