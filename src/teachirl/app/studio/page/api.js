// Requests to the server: each carries the page's token.

export const token = document.querySelector('meta[name="token"]').content;

export class Refused extends Error {}

async function checked(response) {
  if (response.ok) return response;
  let said = `the server said ${response.status}`;
  try { said = (await response.json()).error ?? said; } catch { /* no JSON: the status will do */ }
  throw new Refused(said);
}

export async function ask(path, { method = 'GET', body, signal } = {}) {
  const headers = { 'X-Token': token };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  return (await checked(await fetch(path, { method, headers, body, signal }))).json();
}

// Server-sent events, one object each, until the server ends them or `signal` does.
export async function* events(path, signal) {
  const response = await checked(await fetch(path, { headers: { 'X-Token': token }, signal }));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const event = text.slice(0, end);
      text = text.slice(end + 2);
      if (event.startsWith('data: ')) yield JSON.parse(event.slice(6));
    }
  }
}
