import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { hrefTo } from '../../route.ts';

/** Opens a queue by name. */
export function GoToQueue(): JSX.Element {
  const [name, setName] = useState('');
  return (
    <form
      class="inline-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim() !== '') location.hash = hrefTo({ page: 'queue', queue: name.trim() });
      }}
    >
      <label>
        <span class="unseen">Queue name</span>
        <input
          value={name}
          placeholder="Go to queue"
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => {
            setName(currentTarget.value);
          }}
        />
      </label>
      <button type="submit" class="button">
        Go
      </button>
    </form>
  );
}
