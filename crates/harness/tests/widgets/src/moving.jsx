import React, { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { DndContext, PointerSensor, closestCenter, useSensor, useSensors } from '@dnd-kit/core';
import { SortableContext, arrayMove, useSortable, verticalListSortingStrategy } from '@dnd-kit/sortable';
import Sortable from 'sortablejs';
import $ from 'jquery';
import { Terminal } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { place, tell } from './tell.js';

window.jQuery = window.$ = $;
place().innerHTML = `<div id=held></div><ul id=native><li>N1<li>N2<li>N3</ul><ul id=own><li>F1<li>F2<li>F3</ul>
 <label>Tag <input id=tag></label> <label>Day <input id=day></label> <div id=screen></div>`;
let order = [];
function Row({ id }) {
  const { attributes, listeners, setNodeRef, transform, transition } = useSortable({ id });
  const style = { transform: transform ? `translate3d(0,${transform.y}px,0)` : undefined, transition, padding: 8, width: 150 };
  return <div ref={setNodeRef} {...attributes} {...listeners} style={style}>{id}</div>;
}
function Rows() {
  const [items, set] = useState(['One', 'Two', 'Three']);
  order = items;
  const sensors = useSensors(useSensor(PointerSensor, { activationConstraint: { delay: 250, tolerance: 5 } }));
  const end = ({ active, over }) => over && active.id !== over.id && set((old) => arrayMove(old, old.indexOf(active.id), old.indexOf(over.id)));
  return (
    <DndContext sensors={sensors} collisionDetection={closestCenter} onDragEnd={end}>
      <SortableContext items={items} strategy={verticalListSortingStrategy}>{items.map((id) => <Row key={id} id={id} />)}</SortableContext>
    </DndContext>
  );
}
createRoot(place('held')).render(<Rows />);
new Sortable(place('native'), {});
new Sortable(place('own'), { forceFallback: true });
const terminal = new Terminal({ rows: 5 });
terminal.open(place('screen'));
let sent = '';
terminal.onData((data) => { sent += data; });
// jQuery UI looks for the global jQuery when it is loaded.
import('jquery-ui/dist/jquery-ui.js').then(() => {
  $('#tag').autocomplete({ source: ['ash', 'birch', 'beech'], delay: 200 });
  $('#day').datepicker();
});
const texts = (id) => [...place(id).querySelectorAll('li')].map((one) => one.textContent.trim()).join('');
tell(() => ({ order: order.join(''), native: texts('native'), own: texts('own'), tag: place('tag').value, day: place('day').value, sent }));
