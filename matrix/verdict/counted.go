package verdict

import "strconv"

// counted writes "1 trial" and "2 trials".
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// returned writes how many items the search returned, with the verb for those of them that are spoken of.
func returned(some, all int) string {
	verb := " are"
	if some == 1 {
		verb = " is"
	}
	return counted(all, "returned item", "returned items") + verb
}

// returnedItems says that so many items are all the asker's.
func returnedItems(n int) string {
	if n == 1 {
		return "the returned item is the asker's"
	}
	return counted(n, "returned item is", "returned items are") + " the asker's"
}

// scannedAll is scanned where all was, as it must have been to say that something is absent.
func (x *facts) scannedAll() string {
	if scan := x.o.Store.Scan; scan.Scanned != scan.Counted {
		return x.scanned()
	}
	return counted(x.o.Store.Scan.Counted, "stored item", "stored items")
}
