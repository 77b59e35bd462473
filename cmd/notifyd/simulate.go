package main

import "github.com/spf13/cobra"

func simulateCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "simulate", Short: "Play a payment provider", RunE: needsCommand}
	c.AddCommand(simulateRunCommand(a))
	return c
}
