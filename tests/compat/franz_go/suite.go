// Package franz_go names the client whose own tests are run against a node.
package franz_go

import _ "github.com/twmb/franz-go/pkg/kgo"
