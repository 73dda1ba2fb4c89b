// The promise that nothing leaves the machine, kept by the browser: every way to connect is tried from inside the page.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { closeBrowser, openPage } from './harness.mjs';

after(closeBrowser);

/** A server on this machine that counts who comes. */
async function listener() {
  /** @type {string[]} */
  const visits = [];
  const server = createServer((request, response) => {
    visits.push(request.url ?? '');
    response.writeHead(200, { 'access-control-allow-origin': '*' }).end('got it');
  });
  server.on('upgrade', (request, socket) => {
    visits.push(request.url ?? '');
    socket.destroy();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const at = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { visits, origin: `http://127.0.0.1:${at.port}`, close: () => server.close() };
}

for (const from of /** @type {const} */ (['file', 'localhost'])) {
  test(`from ${from}: fetch, XHR, WebSocket, EventSource, image, beacon, form, frame and script are refused`, async () => {
    const server = await listener();
    const { page, context } = await openPage({ from });
    const refused = await page.evaluate(async (origin) => {
      /** @type {Set<string>} */
      const directives = new Set();
      document.addEventListener('securitypolicyviolation', (event) => directives.add(event.effectiveDirective));
      /** @type {Record<string, string>} */
      const outcome = {};
      outcome.fetch = await fetch(`${origin}/fetch`).then(
        () => 'went out',
        () => 'refused',
      );
      outcome.xhr = await new Promise((resolve) => {
        const xhr = new XMLHttpRequest();
        xhr.onload = () => resolve('went out');
        xhr.onerror = () => resolve('refused');
        try {
          xhr.open('POST', `${origin}/xhr`);
          xhr.send('secret');
        } catch {
          resolve('refused');
        }
      });
      outcome.socket = await new Promise((resolve) => {
        try {
          const socket = new WebSocket(`${origin.replace('http', 'ws')}/socket`);
          socket.onopen = () => resolve('went out');
          socket.onerror = () => resolve('refused');
        } catch {
          resolve('refused');
        }
      });
      outcome.events = await new Promise((resolve) => {
        try {
          const events = new EventSource(`${origin}/events`);
          events.onopen = () => resolve('went out');
          events.onerror = () => resolve('refused');
        } catch {
          resolve('refused');
        }
      });
      outcome.image = await new Promise((resolve) => {
        const image = new Image();
        image.onload = () => resolve('went out');
        image.onerror = () => resolve('refused');
        image.src = `${origin}/image`;
      });
      navigator.sendBeacon(`${origin}/beacon`, 'secret');
      for (const tag of ['script', 'iframe', 'embed', 'video']) {
        const element = document.createElement(tag);
        element.setAttribute('src', `${origin}/${tag}`);
        document.body.append(element);
      }
      const sheet = document.createElement('link');
      sheet.rel = 'stylesheet';
      sheet.href = `${origin}/sheet`;
      document.head.append(sheet);
      const form = document.createElement('form');
      form.action = `${origin}/form`;
      form.method = 'post';
      document.body.append(form);
      form.submit();
      const expected = ['connect-src', 'form-action', 'frame-src', 'img-src', 'script-src-elem', 'style-src-elem'];
      for (let tries = 0; tries < 100 && !expected.every((name) => directives.has(name)); tries++) {
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      return { outcome, directives: [...directives].sort() };
    }, server.origin);
    for (const [way, outcome] of Object.entries(refused.outcome)) assert.equal(outcome, 'refused', way);
    for (const directive of [
      'connect-src',
      'form-action',
      'frame-src',
      'img-src',
      'script-src-elem',
      'style-src-elem',
    ]) {
      assert.ok(refused.directives.includes(directive), `${directive} refused nothing: ${refused.directives}`);
    }
    assert.deepEqual(server.visits, []);
    await fetch(`${server.origin}/control`); // whoever is not refused does arrive
    assert.deepEqual(server.visits, ['/control']);
    await context.close();
    server.close();
  });
}

test('a worker of the page cannot connect either', async () => {
  const server = await listener();
  const { page, context } = await openPage();
  const outcome = await page.evaluate(async (origin) => {
    const body = `fetch('${origin}/worker').then(() => postMessage('went out'), () => postMessage('refused'))`;
    const worker = new Worker(URL.createObjectURL(new Blob([body], { type: 'text/javascript' })));
    return await new Promise((resolve) => {
      worker.onmessage = (event) => resolve(event.data);
      worker.onerror = () => resolve('did not start');
    });
  }, server.origin);
  assert.equal(outcome, 'refused');
  assert.deepEqual(server.visits, []);
  await context.close();
  server.close();
});

test('opening the page asks for nothing and complains of nothing', async () => {
  for (const from of /** @type {const} */ (['file', 'localhost'])) {
    const { page, context, requests, complaints } = await openPage({ from });
    await page.waitForTimeout(500);
    assert.deepEqual(requests, []);
    assert.deepEqual(complaints, []);
    await context.close();
  }
});
