// Serve starts the models of the tests at fixed ports and keeps them until it is interrupted, for the examples' profile local-model:
//
//	go run ./adapters/openai/openaitest/serve
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"

	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := serve(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context) (err error) {
	first := flag.Int("port", 8091, "port of the generator; the embedder and the reranker get the next two")
	flag.Parse()
	fmt.Fprintln(os.Stderr, "The first start installs about 525 MB of packages.")
	var running []*openaitest.Server
	defer func() {
		for _, s := range running {
			err = errors.Join(err, s.Close())
		}
	}()
	for i, name := range []string{"generator", "embedder", "reranker"} {
		s, startErr := openaitest.Launch(ctx, name, "--port", strconv.Itoa(*first+i))
		if startErr != nil {
			return startErr
		}
		running = append(running, s)
		fmt.Printf("%-9s  %-36s  %s\n", name, s.Model, s.URL)
	}
	fmt.Fprintln(os.Stderr, "Ctrl-C ends them.")
	<-ctx.Done()
	return nil
}
