// How the panel looks where room or sight is scarce, and how soon a steer is on the wire.
import assert from "node:assert/strict";
import { until } from "../harness.mjs";

const narrow = 220;

/** What sticks out of the panel on the right, in the panel's own document. */
function sticksOut() {
  const out = [];
  const look = (node) => {
    for (const child of node.children) {
      const { right, width } = child.getBoundingClientRect();
      if (width > 0 && right > innerWidth + 1)
        out.push(`${child.tagName} ${child.textContent.trim().slice(0, 40)} (${Math.round(right)})`);
      look(child);
      if (child.shadowRoot) look(child.shadowRoot);
    }
  };
  look(document.body);
  return out;
}

/** All text in the panel that can be seen: [words, contrast with what is behind it, whether it is a mark]. */
function contrasts() {
  const pixel = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = colour;
    pixel.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], under) => [r, g, b].map((c, i) => c * a + under[i] * (1 - a));
  const light = (rgb) => {
    const [r, g, b] = rgb.map((c) => (c <= 10.3 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const up = (e) => e.assignedSlot ?? e.parentElement ?? e.getRootNode().host;
  const side = getComputedStyle(document.documentElement).getPropertyValue("--vscode-sideBar-background");
  const behind = (e) => (e ? over(rgba(getComputedStyle(e).backgroundColor), behind(up(e))) : rgba(side).slice(0, 3));
  const seen = [];
  const look = (node) => {
    if (node.nodeType === Node.TEXT_NODE && node.data.trim()) {
      const parent = node.parentElement ?? node.getRootNode().host;
      const range = document.createRange();
      range.selectNodeContents(node);
      const { width, height } = range.getBoundingClientRect();
      // What is one pixel wide is for those who listen.
      if (width <= 1 || height <= 1 || !parent.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
        return;
      const ground = behind(parent);
      const [a, b] = [light(over(rgba(getComputedStyle(parent).color), ground)), light(ground)];
      seen.push([
        node.data.trim().slice(0, 40),
        (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05),
        parent.role === "img",
      ]);
    }
    if (["STYLE", "SCRIPT"].includes(node.nodeName)) return;
    for (const child of node.childNodes) look(child);
    if (node.shadowRoot) look(node.shadowRoot);
  };
  look(document.body);
  return seen;
}

export function looks(player, vsix) {
  const body = (w) => w.panel.locator("body");
  const acts = {
    "a session is steered": async (w) => {
      await w.showPanel();
      await w.box.fill("Implement authentication state management using the existing architecture.");
      await w.box.press("Enter");
      await w.says(/I am about to extend/);
      await w.box.fill("Move this into a reusable hook.");
      await w.box.press("Enter");
      await w.says(/Interface named AuthSource/);
    },
    "nothing sticks out of a panel of 220 px": async (w) => {
      assert.ok((await w.sideBar(narrow)) <= narrow + 10, "the side bar became narrow");
      await until("everything fits", async () => (await body(w).evaluate(sticksOut)).length === 0, {
        seconds: 5,
      }).catch(async () => assert.deepEqual(await body(w).evaluate(sticksOut), []));
    },
    "every word can be read in the dark, in the light and in high contrast": async (w) => {
      // What WCAG asks for: of words, and of signs that words explain.
      for (const [name, words, marks] of [
        ["Dark Modern", 4.5, 3],
        ["Light Modern", 4.5, 3],
        ["Dark High Contrast", 7, 4.5],
      ]) {
        await w.theme(name);
        const seen = await body(w).evaluate(contrasts);
        assert.ok(seen.length > 20, `the panel's words were read: ${seen}`);
        const faint = seen.filter(([, ratio, mark]) => ratio < (mark ? marks : words));
        assert.deepEqual(faint, [], `${name}: too faint`);
      }
    },
  };
  return { name: "look", desk: { story: "hook", player, vsix, settings: { "tandem.autonomy": "close" } }, acts };
}

/** Steers twenty times, and says how long it took from Enter in the box to the request at the model's server. */
export function quick(player, vsix) {
  const times = 20;
  const acts = {
    "twenty steers are twenty requests": async (w) => {
      await w.showPanel();
      await w.box.fill("Implement authentication state management using the existing architecture.");
      await w.box.press("Enter");
      await w.says(/I am about to extend/);
      await w.box.evaluate(() => {
        window.pressed = 0;
        const note = (e) => {
          if (e.key === "Enter") window.pressed = performance.timeOrigin + performance.now();
        };
        window.addEventListener("keydown", note, { capture: true });
      });
      const took = [];
      for (let n = 1; n <= times; n++) {
        const before = (await w.desk.model.requests()).length;
        await w.box.fill(`steer number ${n}`);
        await w.box.press("Enter");
        const came = async () => (await w.desk.model.requests())[before] ?? false;
        const { at } = await until(`the request of steer ${n} came`, came);
        took.push(at - (await w.box.evaluate(() => window.pressed)));
        await until("the box is empty again", async () => (await w.box.inputValue()) === "");
      }
      took.sort((a, b) => a - b);
      const ms = (part) => `${took[Math.floor((took.length - 1) * part)].toFixed(1)} ms`;
      console.log(
        `Enter in the box to the request at the model's server: median ${ms(0.5)}, best ${ms(0)}, worst ${ms(1)} of ${times}`,
      );
    },
  };
  return { name: "quick", desk: { story: "hook", player, vsix }, acts };
}
