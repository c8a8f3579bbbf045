package experiments

// InitOptions say what a first experiment is about.
type InitOptions struct {
	Documents string // a file or folder of the user's own documents; "": a small corpus is written too
	Name      string // of the experiment; "": the folder's name
}
