// What is chosen, and its way into the address and back.

export const same = (a, b) => JSON.stringify(plain(a)) === JSON.stringify(plain(b));

export function plain(choice) {
  return { sees: choice.sees, taught: [...choice.taught].sort(), mismatch: choice.mismatch, show: choice.show };
}

export function toAddress(problem, choice) {
  const query = new URLSearchParams({ problem });
  if (choice.sees) (choice.sees.length ? choice.sees : ['']).forEach((name) => query.append('sees', name));
  choice.taught.forEach((name) => query.append('taught', name));
  if (choice.mismatch != null) query.set('mismatch', choice.mismatch);
  if (choice.show != null) query.set('show', choice.show);
  return `?${query}`;
}

export function fromAddress(search) {
  const query = new URLSearchParams(search), mismatch = Number(query.get('mismatch'));
  return {
    problem: query.get('problem'),
    choice: {
      sees: query.has('sees') ? query.getAll('sees').filter(Boolean) : null,
      taught: [...new Set(query.getAll('taught'))],
      mismatch: query.has('mismatch') && Number.isFinite(mismatch) && mismatch >= 0 ? mismatch : null,
      show: ['optimal', 'choose'].includes(query.get('show')) ? query.get('show') : null,
    },
  };
}
