// Words and signs for what is told.

// Colour never says something alone: every state has a sign and a word.
const STATES = {
  Ready: ['●', 'ready', 'ready'],
  Progressing: ['◐', 'progressing', 'progressing'],
  Reconciling: ['◐', 'progressing', 'reconciling'],
  Waiting: ['○', 'waiting', 'waiting'],
  Stalled: ['✗', 'stalled', 'stalled'],
  Removing: ['−', 'removing', 'being removed'],
  Deleting: ['−', 'removing', 'being deleted'],
  Suspended: ['‖', 'waiting', 'suspended'],
  Unknown: ['?', 'unknown', 'unknown'],
  NotNeeded: ['·', 'unneeded', 'not needed'],
};

export const look = (state) => STATES[state] ?? ['', 'plain', ''];

export const plural = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`;

// How long ago a time of Kubernetes was, as kubectl says it.
export function ago(text, now) {
  const passed = Math.max(0, Math.floor((now - Date.parse(text)) / 1000));
  if (Number.isNaN(passed)) return text;
  if (passed < 120) return `${passed}s`;
  if (passed < 7200) return `${Math.floor(passed / 60)}m`;
  if (passed < 172800) return `${Math.floor(passed / 3600)}h`;
  return `${Math.floor(passed / 86400)}d`;
}

export const clock = (millis) => new Date(millis).toISOString().slice(11, 19);

export const title = (it) => `${it.kind} ${it.namespace ? `${it.namespace}/` : ''}${it.name}`;

export const slot = (it) => (it.member ? `${it.node}[${it.member}]` : it.node);

// How kubectl is told of an object.
export const address = (it) =>
  `${it.namespace ? `-n ${it.namespace} ` : ''}${it.kind.toLowerCase()}${it.group ? `.${it.group}` : ''}/${it.name}`;

// The sentences of an advice, and the command in it.
export function command(advice) {
  const quoted = advice.match(/`([^`]+)`/);
  if (quoted) return quoted[1];
  return advice.match(/\b((?:kubectl|pemdas) \S.*)$/)?.[1] ?? '';
}

export const edgeWords = { open: 'open', closed: 'closed', ahead: 'not reached yet' };
