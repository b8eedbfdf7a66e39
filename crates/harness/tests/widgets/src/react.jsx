import React, { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Command } from 'cmdk';
import { OTPInput } from 'input-otp';
import Boxes from 'react-otp-input';
import Select from 'react-select';
import { List } from 'react-window';
import { place, tell } from './tell.js';

const cities = ['Oslo', 'Paris', 'Quito', 'Rome'].map((name) => ({ value: name.toLowerCase(), label: name }));
const Row = ({ index, style, pick }) => <div style={style}><button type="button" onClick={() => pick(index)}>Open item {index}</button></div>;
function Page() {
  const [held, hold] = useState({ name: '', tier: 'basic', city: null, stops: [], agreed: false, code: '', pin: '', item: null, command: '' });
  const set = (name) => (value) => hold((old) => ({ ...old, [name]: value }));
  const [open, setOpen] = useState(false);
  tell(() => ({ ...held, city: held.city && held.city.value, stops: held.stops.map((one) => one.value) }));
  return (
    <form>
      <label>Name <input value={held.name} onChange={(event) => set('name')(event.target.value)} /></label>
      <label>Tier <select value={held.tier} onChange={(event) => set('tier')(event.target.value)}><option value="basic">Basic</option><option value="gold">Gold</option></select></label>
      <label><input type="checkbox" checked={held.agreed} onChange={(event) => set('agreed')(event.target.checked)} /> Agree</label>
      <div style={{ width: 300 }}><label htmlFor="city">City</label><Select inputId="city" options={cities} value={held.city} onChange={set('city')} /></div>
      <div style={{ width: 300 }}><label htmlFor="stops">Stops</label><Select inputId="stops" isMulti options={cities} value={held.stops} onChange={set('stops')} /></div>
      <Boxes value={held.code} onChange={set('code')} numInputs={6} renderInput={(given) => <input {...given} />} />
      <OTPInput maxLength={4} value={held.pin} onChange={set('pin')} aria-label="Pin" render={({ slots }) => <div>{slots.map((slot, at) => <span key={at}>{slot.char || '_'}</span>)}</div>} />
      <button type="button" onClick={() => setOpen(true)}>Commands</button>
      <Command.Dialog open={open} onOpenChange={setOpen} label="All commands">
        <Command.Input placeholder="Search" />
        <Command.List>{['Open file', 'Close tab', 'Rename branch'].map((one) => <Command.Item key={one} onSelect={() => { set('command')(one); setOpen(false); }}>{one}</Command.Item>)}</Command.List>
      </Command.Dialog>
      <List rowComponent={Row} rowCount={5000} rowHeight={35} rowProps={{ pick: set('item') }} style={{ height: 140, width: 300 }} />
    </form>
  );
}
createRoot(place()).render(<Page />);
