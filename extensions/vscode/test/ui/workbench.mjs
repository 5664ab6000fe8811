// The workbench as a developer's hands and eyes have it: what is pressed, typed and seen. Nothing here asserts.
import { join } from "node:path";

/** Opens the desk in a page of its own and waits until the explorer shows its files. */
export async function openWorkbench(browser, desk, { width = 1400, height = 900 } = {}) {
  const page = await browser.newPage({ viewport: { width, height } });
  page.setDefaultTimeout(30_000);
  await page.goto(desk.url());
  await page.locator(".explorer-folders-view .monaco-list-row").first().waitFor({ timeout: 120_000 });
  return new Workbench(page, desk);
}

/** What a webview's body is called under a theme. */
const themes = {
  "Dark Modern": "vscode-dark",
  "Light Modern": "vscode-light",
  "Dark High Contrast": "vscode-high-contrast",
};

export class Workbench {
  constructor(page, desk) {
    this.page = page;
    this.desk = desk;
    const view = 'iframe.webview.ready[src*="extensionId=tandem.tandem"]';
    this.panel = page.frameLocator(view).frameLocator("iframe#active-frame");
    this.box = this.panel.locator("textarea");
    this.editor = page.locator(".editor-instance .monaco-editor").first();
    this.toasts = page.locator(".notification-toast", { hasText: "Tandem:" });
    this.status = page.locator(".statusbar-item");
  }

  press(...keys) {
    return keys.reduce((before, key) => before.then(() => this.page.keyboard.press(key)), Promise.resolve());
  }

  /** Runs a command by its title in the palette. */
  async palette(title) {
    const input = this.page.locator(".quick-input-widget input.input");
    await this.press("F1");
    await input.waitFor({ state: "visible" });
    await input.fill(`>${title}`);
    const row = new RegExp(`^${title.replace(/\W/g, "\\$&")}`);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: row }).first().click();
  }

  /** Opens a file of the desk, at a line; by its whole path, because the old editor has no search. */
  async open(path, line = 1) {
    const input = this.page.locator(".quick-input-widget input.input");
    await this.press("Control+p");
    await input.waitFor({ state: "visible" });
    await input.fill(`${join(this.desk.ws, path)}:${line}`);
    const name = path.split("/").at(-1);
    await this.page.locator(".quick-input-list .monaco-list-row.focused", { hasText: name }).waitFor();
    await this.press("Enter");
    await input.waitFor({ state: "hidden" });
    await this.page.locator(".tab.active", { hasText: name }).waitFor();
    await this.status.filter({ hasText: `Ln ${line},` }).waitFor();
  }

  /** Opens the activity bar's view of Tandem. */
  async showPanel() {
    await this.page.locator('.part.activitybar a.action-label[aria-label^="Tandem"]').click();
    await this.box.waitFor();
  }

  /** Puts the explorer in its place. */
  async hidePanel() {
    await this.page.locator('.part.activitybar a.action-label[aria-label^="Explorer"]').click();
    await this.page.locator(".explorer-folders-view").waitFor();
  }

  /** Waits until the panel says this, and nothing of what shall be gone. */
  says(text) {
    return this.panel.getByText(text).first().waitFor();
  }

  gone(text) {
    return this.panel.getByText(text).first().waitFor({ state: "detached" });
  }

  /** Chooses a colour theme, by its name in the list, and waits until the panel has it. */
  async theme(name) {
    await this.palette("Preferences: Color Theme");
    const input = this.page.locator(".quick-input-widget input.input");
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: "Modern" }).first().waitFor();
    await input.fill(name);
    await this.page.locator(".quick-input-list .monaco-list-row.focused", { hasText: name }).waitFor();
    await this.press("Enter");
    await input.waitFor({ state: "hidden" });
    await this.panel.locator(`body.${themes[name]}`).waitFor();
  }

  /** Drags the border of the side bar until it has this width, or as near as the workbench lets it. */
  async sideBar(width) {
    const bar = this.page.locator(".part.sidebar");
    const box = await bar.boundingBox();
    const y = box.y + box.height / 2;
    await this.page.mouse.move(box.x + box.width, y);
    await this.page.mouse.down();
    await this.page.mouse.move(box.x + width, y, { steps: 5 });
    await this.page.mouse.up();
    return (await bar.boundingBox()).width;
  }
}
