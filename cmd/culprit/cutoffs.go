package main

import (
	"fmt"
	"strconv"
	"strings"
)

// cutoffs is a flag that takes whole numbers. The one of the flag library answers a slip with what a function of Go says.
type cutoffs []int

func (c *cutoffs) String() string {
	texts := make([]string, len(*c))
	for i, n := range *c {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, ",")
}

func (c *cutoffs) Set(list string) error {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
		if err != nil {
			return fmt.Errorf("%q is not a cutoff: write whole numbers with commas between them, such as 5,10,20", text)
		}
		*c = append(*c, int(n))
	}
	return nil
}

func (*cutoffs) Type() string { return "list" }
