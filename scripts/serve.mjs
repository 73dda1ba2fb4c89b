#!/usr/bin/env node
// Serves the built page on this machine alone, and prints its address.
import { realpathSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';
import { page } from './page.mjs';

/**
 * A server of the page at `/`; anything else is not there.
 * @param {number} port 0 takes any that is free
 * @returns {Promise<{ server: import('node:http').Server, address: string }>}
 */
export async function serve(port) {
  const server = createServer(async (request, response) => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    if (path !== '/' && path !== '/index.html') return void response.writeHead(404).end();
    try {
      const html = await readFile(page);
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }).end(html);
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
  await new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, 'localhost', () => resolve(undefined));
  });
  const at = server.address();
  if (at === null || typeof at === 'string') throw new Error('the server has no port');
  return { server, address: `http://localhost:${at.port}/` };
}

// By its real path: installed, it is called by way of a link.
if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  const wanted = Number(process.env.PORT ?? 8000);
  const { address } = await serve(wanted).catch((error) => {
    if (error.code !== 'EADDRINUSE' || process.env.PORT) throw error;
    return serve(0);
  });
  console.log(`oomscope is at ${address} (Ctrl-C ends it)`);
}
