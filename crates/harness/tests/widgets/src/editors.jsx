import React, { useMemo, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Editor as Tiptap } from '@tiptap/core';
import StarterKit from '@tiptap/starter-kit';
import { EditorView, basicSetup } from 'codemirror';
import { javascript } from '@codemirror/lang-javascript';
import { ContentState, Editor as Draft, EditorState } from 'draft-js';
import { registerRichText } from '@lexical/rich-text';
import { $createParagraphNode, $createTextNode, $getRoot, createEditor as createLexical } from 'lexical';
import Quill from 'quill';
import 'quill/dist/quill.snow.css';
import { Node, createEditor } from 'slate';
import { withHistory } from 'slate-history';
import { Editable, Slate, withReact } from 'slate-react';
import { place, tell } from './tell.js';

const kind = document.currentScript.dataset.kind;
const old = 'old text';
const kinds = {
  codemirror() {
    const view = new EditorView({ doc: old, extensions: [basicSetup, javascript()], parent: place() });
    return () => view.state.doc.toString();
  },
  tiptap() {
    const editor = new Tiptap({ element: place(), extensions: [StarterKit], content: `<p>${old}</p>` });
    return () => editor.getText({ blockSeparator: '\n' });
  },
  quill() {
    const editor = new Quill('#app', { theme: 'snow' });
    editor.setText(`${old}\n`);
    return () => editor.getText().trimEnd();
  },
  slate() {
    let editor = null;
    const Page = () => {
      editor = useMemo(() => withHistory(withReact(createEditor())), []);
      return <Slate editor={editor} initialValue={[{ type: 'paragraph', children: [{ text: old }] }]}><Editable aria-label="Body" /></Slate>;
    };
    createRoot(place()).render(<Page />);
    return () => editor && editor.children.map((node) => Node.string(node)).join('\n');
  },
  draft() {
    let shown = null;
    const Page = () => {
      const [state, set] = useState(() => EditorState.createWithContent(ContentState.createFromText(old)));
      shown = state;
      return <Draft ariaLabel="Body" editorState={state} onChange={set} />;
    };
    createRoot(place()).render(<Page />);
    return () => shown && shown.getCurrentContent().getPlainText('\n');
  },
  lexical() {
    const root = document.createElement('div');
    root.contentEditable = 'true';
    root.setAttribute('role', 'textbox');
    place().append(root);
    const editor = createLexical({ namespace: 'widgets', onError: (error) => { throw error; } });
    registerRichText(editor);
    editor.setRootElement(root);
    editor.update(() => {
      const line = $createParagraphNode();
      line.append($createTextNode(old));
      $getRoot().clear().append(line);
    }, { discrete: true });
    return () => editor.getEditorState().read(() => $getRoot().getTextContent().replace(/\n+/g, '\n'));
  },
};
const text = kinds[kind]();
tell(() => ({ text: text() }));
