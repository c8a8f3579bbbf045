// Prepare builds the Weaviate server of the tests, where it was not built before, and prints its path.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/culprit-rag/culprit/adapters/weaviate/weaviatetest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	path, err := weaviatetest.Build(ctx, func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) })
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(path)
}
