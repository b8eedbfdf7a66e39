import React, { useState } from 'react';
import { createRoot } from 'react-dom/client';
import * as Menu from '@radix-ui/react-dropdown-menu';
import * as Pick from '@radix-ui/react-select';
import { Combobox, ComboboxInput, ComboboxOption, ComboboxOptions, Listbox, ListboxButton, ListboxOption, ListboxOptions, Switch } from '@headlessui/react';
import { place, tell } from './tell.js';

const people = ['Ada', 'Bob', 'Cleo'];
function Page() {
  const [fruit, setFruit] = useState('');
  const [done, setDone] = useState('');
  const [person, setPerson] = useState('Ada');
  const [helper, setHelper] = useState(null);
  const [asked, ask] = useState('');
  const [dark, setDark] = useState(false);
  tell(() => ({ fruit, done, person, helper, dark }));
  return (
    <div>
      <Pick.Root value={fruit} onValueChange={setFruit}>
        <Pick.Trigger aria-label="Fruit"><Pick.Value placeholder="Pick one" /></Pick.Trigger>
        <Pick.Portal><Pick.Content><Pick.Viewport>
          {['Fig', 'Grape', 'Kiwi'].map((one) => <Pick.Item key={one} value={one}><Pick.ItemText>{one}</Pick.ItemText></Pick.Item>)}
        </Pick.Viewport></Pick.Content></Pick.Portal>
      </Pick.Root>
      <Menu.Root>
        <Menu.Trigger>Options</Menu.Trigger>
        <Menu.Portal><Menu.Content>
          <Menu.Item onSelect={() => setDone('rename')}>Rename</Menu.Item>
          <Menu.Sub>
            <Menu.SubTrigger>More</Menu.SubTrigger>
            <Menu.Portal><Menu.SubContent><Menu.Item onSelect={() => setDone('archive')}>Archive</Menu.Item></Menu.SubContent></Menu.Portal>
          </Menu.Sub>
        </Menu.Content></Menu.Portal>
      </Menu.Root>
      <Listbox value={person} onChange={setPerson}>
        <ListboxButton aria-label="Person">{person}</ListboxButton>
        <ListboxOptions>{people.map((one) => <ListboxOption key={one} value={one}>{one}</ListboxOption>)}</ListboxOptions>
      </Listbox>
      <Combobox value={helper} onChange={setHelper}>
        <ComboboxInput aria-label="Helper" onChange={(event) => ask(event.target.value)} />
        <ComboboxOptions>{people.filter((one) => one.toLowerCase().includes(asked.toLowerCase())).map((one) => <ComboboxOption key={one} value={one}>{one}</ComboboxOption>)}</ComboboxOptions>
      </Combobox>
      <Switch checked={dark} onChange={setDark} aria-label="Dark" style={{ width: 40, height: 20 }} />
    </div>
  );
}
createRoot(place()).render(<Page />);
