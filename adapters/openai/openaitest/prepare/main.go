// Prepare installs the models of the tests, where they were not installed before, and prints the Python that runs them.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	python, err := openaitest.Install(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(python)
}
