import javax.swing.*; import java.awt.*; import java.io.*; import java.nio.file.*;
public class Form { public static void main(String[] a) throws Exception { SwingUtilities.invokeLater(() -> {
 JFrame f=new JFrame("Swing form"); JMenuBar b=new JMenuBar(); JMenu m=new JMenu("File"); JMenuItem o=new JMenuItem("Open"); m.add(o); b.add(m); f.setJMenuBar(b);
 JPanel p=new JPanel(); JTextField t=new JTextField(20); JLabel l=new JLabel("Name"); l.setLabelFor(t); p.add(l); p.add(t);
 JComboBox<String> c=new JComboBox<>(new String[]{"Small","Medium","Large"}); c.getAccessibleContext().setAccessibleName("Size"); p.add(c);
 JCheckBox k=new JCheckBox("Agree"); p.add(k); JButton s=new JButton("Save"); s.addActionListener(e->{ try { Files.writeString(Path.of("/home/user/out.txt"), t.getText()+"|"+c.getSelectedItem()+"|"+k.isSelected()); } catch(IOException x){} }); p.add(s);
 o.addActionListener(e->JOptionPane.showMessageDialog(f,"opened"));
 f.add(p); f.setSize(600,300); f.setLocation(200,200); f.setDefaultCloseOperation(3); f.setVisible(true); }); } }
