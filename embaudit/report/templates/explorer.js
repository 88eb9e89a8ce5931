"use strict";
(() => {
  // Rows, weights and lists are computed here in float64 from what the page holds; nothing is loaded.
  const data = JSON.parse(document.getElementById("explorer-data").textContent);
  const TIE = 1e-9;

  const unpacked = ({ type, data: letters }) => {
    const bytes = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
    return Float64Array.from(type === "f4" ? new Float32Array(bytes.buffer) : new Float64Array(bytes.buffer));
  };
  const families = data.families.map((one) => {
    const made = { ...one };
    for (const name of ["rows", "other_rows", "row_bias", "other_bias", "step", "shifts"]) made[name] = unpacked(one[name]);
    made.width = made.step.length;
    return made;
  });
  const m = data.names.length, n = data.other_names.length;
  const atHand = families.find((one) => one.kind === "stored");
  const absorbed = data.link === "identity" || data.link === "sigmoid";

  // Formulas ------------------------------------------------------------------------------------------------

  /** Rows of both sides, and biases, in the equivalent model at one place of a family, shifted by a and b typical rows. */
  function moved(family, at, [a, b]) {
    const { width } = family, one = a - family.home[0], other = b - family.home[1];
    const rows = new Float64Array(m * width), others = new Float64Array(n * width);
    const otherBias = Float64Array.from(family.other_bias);
    const weight = family.step.map((step) => Math.exp(step * (at - family.origin)));
    const shift = new Float64Array(width);
    for (let l = 0; l < width; l++) shift[l] = one * family.shifts[l] + other * family.shifts[width + l];
    for (let i = 0, at_ = 0; i < m; i++) {
      for (let l = 0; l < width; l++, at_++) rows[at_] = (family.rows[at_] + shift[l]) * weight[l];
    }
    for (let j = 0, at_ = 0; j < n; j++) {
      let taken = 0;
      for (let l = 0; l < width; l++, at_++) {
        others[at_] = family.other_rows[at_] / weight[l];
        taken += others[at_] * (shift[l] * weight[l]);
      }
      // A free bias takes up what a shift adds to every score of a row.
      if (absorbed) otherBias[j] -= taken;
    }
    return { width, rows, others, rowBias: family.row_bias, otherBias };
  }

  function unit(x, count, width) {
    const out = new Float64Array(x.length);
    for (let i = 0; i < count; i++) {
      let square = 0;
      for (let l = i * width; l < (i + 1) * width; l++) square += x[l] * x[l];
      const length = Math.sqrt(square);
      if (length > 0) for (let l = i * width; l < (i + 1) * width; l++) out[l] = x[l] / length;
    }
    return out;
  }

  function dot(x, i, y, j, width) {
    let sum = 0;
    for (let l = 0, p = i * width, q = j * width; l < width; l++, p++, q++) sum += x[p] * y[q];
    return sum;
  }

  /** What the model predicts of one of the others for every row: scores, probabilities, or leads. */
  function predictions(model, j) {
    const out = new Float64Array(m);
    for (let i = 0; i < m; i++) {
      out[i] = dot(model.others, j, model.rows, i, model.width) + model.rowBias[i] + model.otherBias[j] + data.offset;
    }
    if (data.soft_cap) for (let i = 0; i < m; i++) out[i] = data.soft_cap * Math.tanh(out[i] / data.soft_cap);
    if (data.link === "sigmoid") return out.map((score) => 0.5 + 0.5 * Math.tanh(score / 2));
    if (data.link === "softmax" || data.link === "ranking") {
      const most = out.reduce((x, y) => Math.max(x, y), -Infinity);
      if (data.link === "ranking") return out.map((score) => score - most);
      const grown = out.map((score) => Math.exp(score - most)), sum = grown.reduce((x, y) => x + y, 0);
      return grown.map((x) => x / sum);
    }
    return out;
  }

  function state(family, at, shift) {
    const model = moved(family, at, shift);
    const units = unit(model.rows, m, model.width);
    if (data.unit[0]) model.rows = units;
    if (data.unit[1]) model.others = unit(model.others, n, model.width);
    return { ...model, units };
  }

  function cosines(model, i) {
    const out = new Float64Array(m);
    for (let j = 0; j < m; j++) out[j] = Math.max(-1, Math.min(1, dot(model.units, i, model.units, j, model.width)));
    return out;
  }

  /** The nearest rows, best first, equal ones in the order of the page. */
  function nearest(model, i, count) {
    const near = cosines(model, i);
    const order = Array.from(near.keys()).filter((j) => j !== i).sort((x, y) => near[y] - near[x] || x - y);
    return order.slice(0, count).map((j) => ({ row: j, cosine: near[j] }));
  }

  /** For every row the cosine of the last one listed. */
  function lasts(model, count) {
    const out = new Float64Array(m), best = new Float64Array(count);
    for (let i = 0; i < m; i++) {
      best.fill(-2);
      for (let j = 0; j < m; j++) {
        if (j === i) continue;
        const value = dot(model.units, i, model.units, j, model.width);
        if (value <= best[count - 1]) continue;
        let place = count - 1;
        for (; place > 0 && best[place - 1] < value; place--) best[place] = best[place - 1];
        best[place] = value;
      }
      out[i] = best[count - 1];
    }
    return out;
  }

  /** The share of all listed neighbours that another model does not list; ties count as kept. */
  function replaced(lists, model, count) {
    const last = lasts(model, count);
    let gone = 0;
    lists.forEach((list, i) => list.forEach(({ row }) => {
      if (dot(model.units, i, model.units, row, model.width) < last[i] - TIE) gone++;
    }));
    return gone / (m * count);
  }

  const tangent = (cosine) => Math.sqrt(Math.max(0, 1 - cosine) / Math.max(0, 1 + cosine));
  const cosineOf = (t) => (t === Infinity ? -1 : (1 - t * t) / (1 + t * t));

  /** Half-angle tangents that shifts no longer than a radius reach: the discs that touch the arcs of equal angle. */
  function shifted(x, y, radius) {
    const gap = y.map((value, l) => value - x[l]), by = (p, q) => p.reduce((sum, value, l) => sum + value * q[l], 0);
    const a = Math.sqrt(by(x, x)), b = Math.sqrt(by(y, y)), base = Math.sqrt(by(gap, gap)), product = by(x, y);
    const still = tangent(Math.max(-1, Math.min(1, product / (a * b))));
    if (radius === 0 || base === 0) return [still, still];
    const area = Math.sqrt(Math.max(0, (a * b - product) * (a * b + product)));
    const inside = by(x, gap) < 0 && by(y, gap) > 0, corner = Math.min(a, b), near = area / base;
    const beyond = radius > corner, opposite = inside ? radius >= near : beyond;
    const same = inside ? beyond : radius >= near;
    const reach = beyond ? 0 : radius, turn = reach * base, inner = product - reach * reach;
    const sides = Math.sqrt(Math.max(0, (a * a - reach * reach) * (b * b - reach * reach)));
    const acute = inner > 0 || !inside;
    const low = acute ? (area + turn) / (inner + sides) : (sides - inner) / (area - turn);
    const high = acute ? (area - turn) / (inner + sides) : (sides - inner) / (area + turn);
    return [opposite ? Infinity : low, same ? 0 : high];
  }

  /** The exact range of one cosine under every gauge within a condition number and a length of shift. */
  function range(i, j, kappa, length) {
    const { rows, width } = atHand;
    const [low, high] = shifted(rows.slice(i * width, (i + 1) * width), rows.slice(j * width, (j + 1) * width), length);
    return [cosineOf(low * kappa), cosineOf(high / kappa)];
  }

  /** The condition number between your model and a place of a family; NaN where no gauge leads there. */
  function kappa(family, at) {
    if (!family.is_gauge) return NaN;
    return family.kappas ? family.kappas[Math.round(at / family.high * family.places)] : 1;
  }

  const length = ([a, b]) => (data.pad ? Math.hypot(a, b) * data.pad.unit : 0);

  // What is shown -------------------------------------------------------------------------------------------

  const start = { family: atHand, at: atHand.start, shift: [0, 0] };
  const now = { ...start, items: [...data.first], users: [0, 1, 2].map((j) => Math.min(j, n - 1)) };
  const before = state(start.family, start.at, start.shift);
  const lists = Array.from({ length: m }, (_, i) => nearest(before, i, data.listed));
  const predicted = Array.from({ length: n }, (_, j) => predictions(before, j));
  const largest = predicted.reduce((most, one) => one.reduce((x, y) => Math.max(x, Math.abs(y)), most), 0);
  const tolerance = Math.max(data.tolerance, largest * 1e-12);
  // No digit is shown that rounding may change.
  const digits = Math.max(0, Math.min(12, 6 - Math.ceil(Math.log10(largest || 1)), Math.floor(-Math.log10(2 * tolerance || 1e-12))));
  // An odd nudge keeps halves of the last digit from rounding both ways.
  const scale = 10 ** digits, rounded = (value) => Math.round((value + largest * 3.1e-12) * scale);
  const written = (value) => ((rounded(value) || 0) / scale).toFixed(digits);

  const $ = (id) => document.getElementById(id);
  const make = (tag, text, kind) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  // Neither none nor all where it is some.
  const percent = (share) => (share > 0 && share < 0.01 ? "<1 %" : share > 0.99 && share < 1 ? ">99 %"
    : `${Math.round(100 * share)} %`);
  const shows = [{ button: $("reset"), ...start }, ...data.shows.map(({ family, at, shift }, i) => (
    { button: $(`show-${i}`), family: families[family], at, shift }))];

  function listed(list, others, model, i, mark) {
    const kept = new Set(others.map(({ row }) => row)), last = others[others.length - 1].cosine;
    const all = cosines(model, i);
    return list.map(({ row, cosine }) => {
      const stays = kept.has(row) || all[row] >= last - TIE, line = make("li", undefined, stays ? "" : mark);
      const sign = make("i", stays ? "" : mark === "went" ? "−" : "+"), name = make("span", undefined, "name");
      sign.setAttribute("aria-hidden", "true");
      name.append(make("bdi", data.names[row]));
      if (!stays) name.append(make("span", ` (${mark})`, "hush"));
      line.append(sign, name, make("span", cosine.toFixed(2), "cos"));
      return line;
    });
  }

  function drawLists(model) {
    now.items.forEach((i, at) => {
      const after = nearest(model, i, data.listed);
      $(`before-${at}`).replaceChildren(...listed(lists[i], after, model, i, "went"));
      $(`after-${at}`).replaceChildren(...listed(after, lists[i], before, i, "new"));
    });
  }

  function drawPredictions(model) {
    let changed = 0, most = 0;
    const fresh = predicted.map((old, j) => {
      const one = predictions(model, j);
      one.forEach((value, i) => {
        most = Math.max(most, Math.abs(value - old[i]));
        if (Math.abs(value - old[i]) > tolerance) changed++;
      });
      return one;
    });
    now.users.forEach((j, at) => {
      const old = predicted[j], order = Array.from(old.keys()).sort((x, y) => old[y] - old[x] || x - y).slice(0, 3);
      $(`predicted-${at}`).replaceChildren(...order.map((i) => {
        const line = make("li"), name = make("span", undefined, "name");
        name.append(make("bdi", data.names[i]));
        line.append(name, make("output", written(fresh[j][i]), "exact"));
        return line;
      }));
    });
    $("changed").classList.toggle("some", changed > 0);
    $("changed").textContent = `${changed.toLocaleString("en")} of ${(m * n).toLocaleString("en")}`;
    $("tolerance").textContent = tolerance.toExponential(0);
    $("most").textContent = most === 0 ? "0" : most.toExponential(0);
  }

  function drawRange(model) {
    const [i, j] = now.items, here = cosines(model, i)[j], then = cosines(before, i)[j];
    const strength = kappa(now.family, now.at), known = Number.isFinite(strength);
    const [low, high] = known ? range(i, j, strength, length(now.shift)) : [-1, 1];
    const x = (cosine) => 10 + 200 * (cosine + 1);
    $("range").setAttribute("x", x(low));
    $("range").setAttribute("width", Math.max(1, x(high) - x(low)));
    $("range").style.visibility = known ? "visible" : "hidden";
    $("pair-then").setAttribute("cx", x(then));
    $("pair-now").setAttribute("cx", x(here));
    $("pair-cosine").textContent = here.toFixed(4);
    $("pair-before").textContent = then.toFixed(4);
    $("pair-range").textContent = known ? `${low.toFixed(4)} to ${high.toFixed(4)}` : "–";
    $("kappa").textContent = known ? strength.toFixed(2) : "–";
    if (data.pad) $("shift-length").textContent = Math.hypot(...now.shift).toFixed(2);
  }

  function drawControls() {
    families.forEach((family, at) => {
      const slider = $(`slider-${at}`);
      if (!slider) return;
      const active = family === now.family;
      const value = family === now.family ? now.at : family.start;
      slider.value = value;
      slider.closest(".control").classList.toggle("active", active);
      const said = String(Number(value.toFixed(3)));
      $(`value-${at}`).textContent = said;
      slider.setAttribute("aria-valuetext", said);
    });
    if (!data.pad) return;
    // Rows that go one way are an origin that goes the other: the rows stay on the pad, and the origin is what moves.
    const [a, b] = now.shift.map((value) => -value || 0);
    $("shift-a").value = a;
    $("shift-b").value = b;
    $("value-a").textContent = a.toFixed(2);
    $("value-b").textContent = b.toFixed(2);
    $("origin").setAttribute("transform", `translate(${onPad(a)} ${200 - onPad(b)})`);
  }

  let waiting = false;
  function draw() {
    waiting = false;
    const model = state(now.family, now.at, now.shift);
    drawControls();
    drawPredictions(model);
    drawLists(model);
    drawRange(model);
    const share = replaced(lists, model, data.listed);
    $("replaced").textContent = percent(share);
    $("replaced-bar").setAttribute("width", 100 * share);
    $("replaced").classList.toggle("none", share === 0);
    $("status-replaced").textContent = percent(share);
    $("status-changed").textContent = $("changed").textContent;
    shows.forEach(({ button, family, at, shift }) => button.setAttribute("aria-pressed", String(
      family === now.family && Math.abs(at - now.at) < 1e-9 && shift.every((x, i) => Math.abs(x - now.shift[i]) < 1e-9))));
  }
  function soon() {
    if (!waiting) { waiting = true; requestAnimationFrame(draw); }
  }

  function go(family, at, shift) {
    Object.assign(now, { family, at, shift });
    soon();
  }
  const onPad = (value) => 100 + 84 * value / data.pad.reach;
  const clamp = (value) => Math.max(-data.pad.reach, Math.min(data.pad.reach, value));

  // What people do ------------------------------------------------------------------------------------------

  let playing = 0;
  function stop() {
    cancelAnimationFrame(playing);
    playing = 0;
    if ($("play")) $("play").textContent = "▶ Play";
  }
  families.forEach((family, at) => {
    const slider = $(`slider-${at}`);
    if (!slider) return;
    slider.addEventListener("input", () => {
      stop();
      go(family, Number(slider.value), family === now.family ? now.shift : [...family.home]);
    });
  });
  for (const [at, id] of ["shift-a", "shift-b"].entries()) {
    if ($(id)) $(id).addEventListener("input", () => {
      stop();
      const shift = [...now.shift];
      shift[at] = -Number($(id).value);
      go(now.family, now.at, shift);
    });
  }
  if (data.pad) {
    const pad = $("pad"), points = unpacked(data.pad.points);
    for (let i = 0; i < m; i++) {
      const dot_ = document.createElementNS(pad.namespaceURI, "circle");
      dot_.setAttribute("cx", onPad(points[2 * i]));
      dot_.setAttribute("cy", 200 - onPad(points[2 * i + 1]));
      dot_.setAttribute("r", 1.6);
      $("points").append(dot_);
    }
    const put = (event) => {
      const box = pad.getBoundingClientRect(), back = (share) => -(200 * share - 100) / 84 * data.pad.reach;
      stop();
      go(now.family, now.at, [clamp(back((event.clientX - box.left) / box.width)),
        clamp(-back((event.clientY - box.top) / box.height))]);
    };
    pad.addEventListener("pointerdown", (event) => { pad.setPointerCapture(event.pointerId); put(event); });
    pad.addEventListener("pointermove", (event) => { if (event.buttons) put(event); });
  }
  for (const { button, family, at, shift } of shows) {
    button.addEventListener("click", () => { stop(); go(family, at, [...shift]); });
  }
  $("play").addEventListener("click", () => {
    if (playing) { stop(); return; }
    $("play").textContent = "❚❚ Pause";
    const family = now.family.kind === "stored" && data.pad ? null : families.find((one) => one.kind !== "stored");
    const begun = performance.now(), [from, to] = family ? [0, family.high] : [-data.pad.reach, 0];
    const first = family ? (family.start - from) / (to - from) : 1;
    const step = (time) => {
      const wave = 0.5 - 0.5 * Math.cos((time - begun) / 1600 + Math.acos(1 - 2 * first));
      if (family) {
        const at = from + Math.round(wave * family.places) / family.places * (to - from);
        go(family, at, [...family.home]);
      } else go(now.family, now.at, [from + wave * (to - from), 0]);
      playing = requestAnimationFrame(step);
    };
    playing = requestAnimationFrame(step);
  });

  const places = new Map(data.names.map((name, i) => [name.toLowerCase(), i]));
  function found(text) {
    const wanted = text.trim().toLowerCase();
    if (places.has(wanted)) return places.get(wanted);
    return wanted ? data.names.findIndex((name) => name.toLowerCase().includes(wanted)) : -1;
  }
  now.items.forEach((item, at) => {
    const field = $(`item-${at}`);
    field.value = data.names[item];
    const take = () => {
      const row = found(field.value);
      field.setAttribute("aria-invalid", String(row < 0));
      if (row >= 0 && row !== now.items[at]) { now.items[at] = row; soon(); }
      return row;
    };
    field.addEventListener("input", take);
    field.addEventListener("focus", () => field.select());
    field.addEventListener("change", () => { if (take() >= 0) field.value = data.names[now.items[at]]; });
  });
  now.users.forEach((user, at) => {
    const field = $(`user-${at}`);
    field.append(...data.other_names.map((name, j) => {
      const choice = make("option", name);
      choice.value = j;
      return choice;
    }));
    field.value = user;
    field.addEventListener("change", () => { now.users[at] = Number(field.value); soon(); });
  });
  $("names").append(...data.names.map((name) => {
    const choice = document.createElement("option");
    choice.value = name;
    return choice;
  }));

  // For tests, and for whoever wants the numbers.
  window.explorer = {
    data, families, go, now, range, kappa,
    cosines: (family, at, shift, i) => Array.from(cosines(state(families[family], at, shift), i)),
    predictions: (family, at, shift, j) => Array.from(predictions(state(families[family], at, shift), j)),
    replaced: (family, at, shift) => replaced(lists, state(families[family], at, shift), data.listed),
  };
  $("explorer-app").hidden = false;
  // Two equal lists side by side say nothing: the page opens at an equivalent model.
  const opening = shows.slice(1).find(({ family, at, shift }) => replaced(lists, state(family, at, shift), data.listed) > 0);
  if (opening) {
    Object.assign(now, { family: opening.family, at: opening.at, shift: [...opening.shift] });
    $("opened").hidden = false;
    $("opened-at").textContent = opening.button.textContent;
  }
  draw();
})();
