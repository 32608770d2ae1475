"""The site and the PDF without Quarto, by pandoc."""
