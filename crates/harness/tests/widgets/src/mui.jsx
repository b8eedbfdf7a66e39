import React, { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Autocomplete, Checkbox, FormControl, FormControlLabel, InputLabel, MenuItem, Rating, Select, Slider, Switch, TextField } from '@mui/material';
import { AdapterDayjs } from '@mui/x-date-pickers/AdapterDayjs';
import { DatePicker } from '@mui/x-date-pickers/DatePicker';
import { LocalizationProvider } from '@mui/x-date-pickers/LocalizationProvider';
import { TimePicker } from '@mui/x-date-pickers/TimePicker';
import { place, tell } from './tell.js';

function Form() {
  const [held, hold] = useState({ day: null, hour: null, fruit: null, volume: 30, size: '', wifi: false, stars: 0, terms: false, note: '' });
  const set = (name) => (value) => hold((old) => ({ ...old, [name]: value }));
  const at = (name) => (event, value) => set(name)(value);
  const date = (value, form) => (value && value.isValid() ? value.format(form) : null);
  tell(() => ({ ...held, day: date(held.day, 'YYYY-MM-DD'), hour: date(held.hour, 'HH:mm') }));
  return (
    <LocalizationProvider dateAdapter={AdapterDayjs}>
      <div style={{ display: 'grid', gap: 16, width: 400 }}>
        <DatePicker label="Departure" value={held.day} onChange={set('day')} />
        <TimePicker label="Hour" value={held.hour} onChange={set('hour')} />
        <Autocomplete options={['Apple', 'Banana', 'Cherry']} value={held.fruit} onChange={at('fruit')} renderInput={(given) => <TextField {...given} label="Fruit" />} />
        <Slider aria-label="Volume" value={held.volume} onChange={at('volume')} />
        <FormControl>
          <InputLabel id="size">Size</InputLabel>
          <Select labelId="size" label="Size" value={held.size} onChange={(event) => set('size')(event.target.value)}>
            <MenuItem value="small">Small</MenuItem>
            <MenuItem value="medium">Medium</MenuItem>
          </Select>
        </FormControl>
        <FormControlLabel control={<Switch checked={held.wifi} onChange={at('wifi')} />} label="Wifi" />
        <FormControlLabel control={<Checkbox checked={held.terms} onChange={at('terms')} />} label="Terms" />
        <Rating value={held.stars} onChange={at('stars')} />
        <TextField label="Note" multiline value={held.note} onChange={(event) => set('note')(event.target.value)} />
      </div>
    </LocalizationProvider>
  );
}
createRoot(place()).render(<Form />);
