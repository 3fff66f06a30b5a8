package fleet

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strings"
)

//go:embed orders.csv
var ordersCSV string

// order is a row of orders.csv. The fleet shares one record for each, whose
// value is the state.
type order struct {
	Number   string `json:"order"`
	Customer string `json:"customer"`
	Item     string `json:"item"`
	Quantity string `json:"quantity"`
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
	Country  string `json:"country"`
	State    string `json:"state"`
}

const columns = 8

// readOrders returns the orders in the order of the file.
func readOrders() ([]order, error) {
	r := csv.NewReader(strings.NewReader(ordersCSV))
	r.FieldsPerRecord = columns
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("orders.csv: %w", err)
	}
	orders := make([]order, 0, len(rows))
	for _, f := range rows[1:] {
		orders = append(orders, order{f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]})
	}
	return orders, nil
}
