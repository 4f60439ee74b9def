// Brings h2spec by its module, so that go.sum says which one.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/summerwind/h2spec"
	"github.com/summerwind/h2spec/config"
)

// main runs all tests: h2spec HOST PORT PATH tls|plain
func main() {
	port, _ := strconv.Atoi(os.Args[2])
	passed, err := h2spec.Run(&config.Config{
		Host: os.Args[1], Port: port, Path: os.Args[3], Timeout: 5 * time.Second,
		TLS: os.Args[4] == "tls", Insecure: true, MaxHeaderLen: 4000,
	})
	if err != nil || !passed {
		fmt.Println(err)
		os.Exit(1)
	}
}
