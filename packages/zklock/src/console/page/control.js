import { shown, whoText } from './text.js';

const dialog = document.getElementById('confirm');
const yes = document.getElementById('confirm-yes');
const texts = {
  revoke: {
    title: 'Ask to release?',
    text: (who) =>
      `${who} gets the request to release. A program that has not agreed to such requests does not notice it.`,
    yes: 'Ask to release',
    done: 'Asked to release',
  },
  release: {
    title: 'Take the lock away?',
    text: (who) =>
      `${who} is told to stop, and after 5 seconds its znode is deleted. A program that does not run now, or does not listen, goes on without the lock, while the next one holds it.`,
    yes: 'Take away',
    done: 'Taken away',
  },
};
let wanted;

document.getElementById('confirm-no').addEventListener('click', () => dialog.close());
yes.addEventListener('click', () => {
  dialog.close();
  void send(wanted.what, wanted.one, wanted.lock);
});

/** Asks the user before anything is sent. */
export function ask(what, one, lock) {
  wanted = { what, one, lock };
  const { title, text, yes: label } = texts[what];
  document.getElementById('confirm-title').textContent = title;
  document.getElementById('confirm-text').textContent = text(whoText(one));
  document.getElementById('confirm-path').textContent = shown(one.path);
  yes.textContent = label;
  dialog.showModal();
  document.getElementById('confirm-no').focus();
}

async function send(what, one, lock) {
  const told = document.getElementById('told');
  told.textContent = `${texts[what].yes}: ${shown(lock.path)} …`;
  try {
    const answer = await fetch(`api/${what}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-zklock-token': document.querySelector('meta[name=token]').content,
      },
      body: JSON.stringify({ path: one.path }),
    });
    const { error } = await answer.json();
    told.textContent = answer.ok ? `${texts[what].done}: ${shown(lock.path)}` : `Refused: ${shown(error)}`;
  } catch (error) {
    told.textContent = `Failed: ${error.message}`;
  }
}
