import { AllCommunityModule, ModuleRegistry, createGrid } from 'ag-grid-community';
import Handsontable from 'handsontable';
import 'handsontable/styles/handsontable.css';
import 'handsontable/styles/ht-theme-main.css';
import { place, tell } from './tell.js';

const kind = document.currentScript.dataset.kind;
place().style.cssText = 'height:400px;width:700px';
if (kind === 'aggrid') {
  ModuleRegistry.registerModules([AllCommunityModule]);
  const rows = Array.from({ length: 1000 }, (_, at) => ({ id: at + 1, name: `Person ${at + 1}`, ok: false }));
  createGrid(place(), { rowData: rows, columnDefs: [{ field: 'id' }, { field: 'name', editable: true }, { field: 'ok', editable: true }] });
  tell(() => ({ changed: rows.filter((row) => row.ok || row.name !== `Person ${row.id}`).map(({ id, name, ok }) => `${id} ${name} ${ok}`) }));
} else {
  const table = new Handsontable(place(), { data: [['Ann', 1], ['Ben', 2], ['Cid', 3]], colHeaders: true, rowHeaders: true, licenseKey: 'non-commercial-and-evaluation', themeName: 'ht-theme-main' });
  tell(() => ({ data: table.getData().flat() }));
}
