import tkinter

window = tkinter.Tk()
window.title("Tk form")
tkinter.Label(window, text="Name").pack()
tkinter.Entry(window).pack()
tkinter.Button(window, text="Save").pack()
window.mainloop()
