// Command flagonly only parses the flags of a lookup. The bench compares the cost of a lookup with it.
package main

import (
	"flag"
	"os"
)

func main() {
	_ = flag.String("state", "", "The daemon's state FOLDER.")
	_ = flag.String("socket", "", "The daemon's SOCKET.")
	_ = flag.Bool("json", false, "One JSON object per line.")
	flag.Parse()
	if _, err := os.Stdout.WriteString(flag.Arg(0) + "\n"); err != nil {
		os.Exit(1)
	}
}
