import $ from 'jquery';
import Cleave from 'cleave.js';
import IMask from 'imask';
import TomSelect from 'tom-select';
import flatpickr from 'flatpickr';
import noUiSlider from 'nouislider';
import select2 from 'select2';
import typeahead from 'typeahead-standalone';
import { createApp, h, reactive } from 'vue';
import 'flatpickr/dist/flatpickr.css';
import 'nouislider/dist/nouislider.css';
import 'select2/dist/css/select2.css';
import 'tom-select/dist/css/tom-select.css';
import { place, tell } from './tell.js';

place().innerHTML = `<label for=country>Country</label> <select id=country><option value=fr>France<option value=de>Germany<option value=ke>Kenya</select>
 <p><label>Arrival <input id=arrival></label> <label>Meeting <input id=meeting></label>
 <p>Budget<div id=budget style="width:300px;margin:20px"></div>
 <p><label for=team>Team</label><select id=team><option value=r>Red<option value=g>Green</select>
 <p><label>Phone <input id=phone></label> <label>Card <input id=card></label> <label>Fruit <input id=fruit></label>
 <div id=vue></div>`;
window.jQuery = window.$ = $;
if (typeof select2 === 'function') select2(window, $);
$('#country').select2({ width: '200px' });
flatpickr('#arrival', { allowInput: true });
flatpickr('#meeting', { allowInput: true, enableTime: true });
noUiSlider.create(place('budget'), { start: [20, 80], step: 5, connect: true, range: { min: 0, max: 100 }, handleAttributes: [{ 'aria-label': 'Least' }, { 'aria-label': 'Most' }] });
new TomSelect('#team', {});
const phone = IMask(place('phone'), { mask: '+{1} (000) 000-0000' });
const card = new Cleave('#card', { creditCard: true });
typeahead({ input: place('fruit'), source: { local: ['Apple', 'Apricot', 'Banana'] }, onSubmit: (event, chosen) => { window.chosen = chosen; } });
const shown = reactive({ mail: '', loud: false });
createApp({
  render: () => h('p', [
    h('label', ['Mail ', h('input', { value: shown.mail, onInput: (event) => { shown.mail = event.target.value.trim(); } })]),
    h('label', [h('input', { type: 'checkbox', checked: shown.loud, onChange: (event) => { shown.loud = event.target.checked; } }), ' Loud']),
  ]),
}).mount('#vue');
tell(() => ({ country: $('#country').val(), arrival: place('arrival').value, meeting: place('meeting').value, budget: place('budget').noUiSlider.get(),
  team: place('team').value, phone: phone.unmaskedValue, card: card.getRawValue(), fruit: place('fruit').value, mail: shown.mail, loud: shown.loud }));
