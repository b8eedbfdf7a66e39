import tinymce from 'tinymce/tinymce';
import 'tinymce/icons/default';
import 'tinymce/models/dom';
import 'tinymce/themes/silver';
import 'tinymce/skins/content/default/content.js';
import 'tinymce/skins/ui/oxide/content.js';
import 'tinymce/skins/ui/oxide/skin.js';
import { place, tell } from './tell.js';

place().textContent = 'old text';
tinymce.init({ selector: '#app', license_key: 'gpl', height: 300, branding: false, promotion: false });
tell(() => ({ text: tinymce.activeEditor && tinymce.activeEditor.getContent({ format: 'text' }).replace(/\n+/g, '\n') }));
