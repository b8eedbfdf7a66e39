import * as monaco from 'monaco-editor';
import { place, tell } from './tell.js';

self.MonacoEnvironment = { getWorker: () => new Worker(URL.createObjectURL(new Blob(['onmessage = () => {}']))) };
place().style.cssText = 'height:300px;width:600px';
const editor = monaco.editor.create(place(), { value: 'old text', language: 'plaintext', quickSuggestions: false, wordBasedSuggestions: 'off', ariaLabel: 'Body' });
tell(() => ({ text: editor.getValue() }));
